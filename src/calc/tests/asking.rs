//! Defaults, choices, models, GPUs, faults.

use proptest::prelude::*;

use super::{ask, calculator, faults, pairs};
use crate::calc::{GPUS, Kind, MODELS, Origin, Value, all, find, near};
use crate::lang::Lang;

#[test]
fn every_calculator_answers_for_its_defaults_and_every_choice_in_both_languages() {
    for calculator in all() {
        let answer = calculator.ask(&[]).unwrap_or_else(|f| panic!("{}: {f:?}", calculator.name));
        assert!(answer.value.is_some_and(|v| v >= 0.0), "{}: {answer:?}", calculator.name);
        let texts = [calculator.title, calculator.what].into_iter();
        for text in texts.chain(calculator.all_inputs().iter().map(|i| i.help)) {
            assert!(!text.en.is_empty() && !text.zh.is_empty(), "{}", calculator.name);
        }
        for lang in Lang::ALL {
            let width = unicode_width::UnicodeWidthStr::width(*calculator.title.get(lang));
            assert!(width <= 26, "{}: {width} columns are more than a list has", calculator.name);
        }
        for input in calculator.all_inputs() {
            let Kind::Choice(choices) = input.kind else { continue };
            for choice in choices {
                let given = [(input.name.to_owned(), (*choice).to_owned())];
                match calculator.ask(&given) {
                    Ok(answer) => assert!(answer.value.is_some(), "{} {given:?}", calculator.name),
                    Err(faults) => {
                        assert_eq!(input.name, "dtype", "{} {given:?}: {faults:?}", calculator.name);
                    }
                }
            }
        }
    }
}

#[test]
fn formulas_leave_no_input_unnamed() {
    for calculator in all() {
        let answer = calculator.ask(&[]).expect("defaults");
        let resolved = calculator.resolve(&[]).expect("defaults");
        let words = |text: &str| -> Vec<String> {
            text.split(|c: char| !c.is_alphabetic() && c != '_').map(str::to_owned).collect()
        };
        for input in resolved.iter().filter(|r| matches!(r.value, Value::Number(_))).map(|r| r.input.name) {
            // One name is also a unit prefix or a unit.
            if ["B", "T", "M", "s", "h", "d", "P", "g", "t", "m"].contains(&input) {
                continue;
            }
            for formula in answer.rows.iter().map(|r| &r.formula).chain([&answer.formula]) {
                assert!(
                    !words(formula).iter().any(|w| w == input),
                    "{}: {input} in {formula}",
                    calculator.name
                );
            }
        }
    }
}

#[test]
fn names_are_unique_and_found_as_people_write_them() {
    let mut names: Vec<&str> = all().map(|c| c.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(find("KV_cache").is_some_and(|c| c.name == "kv-cache"));
    assert_eq!(near("params")[..2], ["params-gpt2", "params-llama"]);
    assert!(near("decod").contains(&"decode"));
    assert!(near("mufu").contains(&"mfu"));
    assert!(near("zzzzzzzzzz").is_empty());
}

#[test]
fn a_model_fills_the_shape_and_what_is_given_goes_before() {
    let kv = ask("kv", "model=qwen2.5-7b");
    assert_eq!(kv.value, Some(57_344.0));
    assert_eq!(kv.formula, "2·28·4·128·2 B");
    assert_eq!(ask("kv", "model=Qwen2.5-7B bytes=fp8").value, Some(28_672.0));
    assert_eq!(ask("kv", "model=Qwen2.5-7B nkv=28").value, Some(401_408.0));
    let resolved = calculator("kv").resolve(&pairs("nkv=32")).expect("valid");
    let origin = |name: &str| resolved.iter().find(|r| r.input.name == name).map(|r| r.origin.clone());
    assert_eq!(origin("nkv"), Some(Origin::Given));
    assert_eq!(origin("L"), Some(Origin::Model("Llama-3-8B".into())));
    let note = &ask("kv", "nkv=32").notes[0];
    assert!(note.en.contains("taken from Llama-3-8B: L, d"), "{note:?}");
    assert_eq!(ask("kv-cache", "model=DeepSeek-V3 kv_bytes=fp8 ctx=1").value, Some(35_136.0));
    let window = ask("kv-cache", "model=Mistral-7B-v0.1 ctx=32768");
    assert_eq!(window.value, Some(536_870_912.0));
}

#[test]
fn a_gpu_fills_peak_and_bandwidth_by_element_type() {
    let ridge = |inputs| ask("ridge", inputs).value.expect("a ridge");
    assert!((ridge("gpu=H200") - 206.04).abs() < 0.01);
    assert!((ridge("gpu=H200 dtype=fp8") - 412.3).abs() < 0.1);
    assert!((ridge("gpu=H200 bw=4.3TB/s peak=788TFLOP/s") - 183.26).abs() < 0.01);
    assert!((ridge("gpu=B200") - 281.25).abs() < 0.01);
}

#[test]
fn what_the_tables_do_not_have_is_asked_for_by_name() {
    for (name, inputs, parts) in [
        ("ridge", "gpu=V100-SXM2-32GB", &["no bf16 peak for V100", "fp16", "give peak=", "989TFLOP/s"][..]),
        ("ridge", "gpu=H100", &["H100-SXM, H100-PCIe", "gpu=none"]),
        ("ridge", "gpu=TPU", &["A100-40GB-SXM", "MI300X", "peak=, bw="]),
        ("ridge", "gpu=none", &["peak is needed", "give peak="]),
        ("params-llama", "model=GPT-5", &["Llama-3-8B", "model=none"]),
        ("params-llama", "model=DeepSeek-V3", &["no nkv for DeepSeek-V3", "give nkv="]),
        ("kv", "model=DeepSeek-V3", &["no nkv for DeepSeek-V3"]),
        ("training-state", "model=DeepSeek-V3", &["no N for DeepSeek-V3", "give N="]),
        ("training-state", "recipe=fp7", &["not one of", "mixed-fp32-grads"]),
        ("zero", "colour=red", &["no input `colour`", "recipe"]),
        ("zero", "n=0", &["out of bounds", "from 1"]),
        ("zero", "n=8 n=9", &["given twice"]),
        ("kv-capacity", "util=1.5", &["out of bounds", "from 0.01 to 1"]),
        ("decode", "bw=10ms", &["unit `ms`", "bandwidth"]),
    ] {
        let all: String = faults(name, inputs).iter().map(|f| f.text.en.clone() + "\n").collect();
        for part in parts {
            assert!(all.contains(part), "{name} {inputs}: {part} not in {all}");
        }
    }
    assert_eq!(faults("decode", "bw=10ms ctx=-1 B=x").len(), 3, "every fault is told at once");
}

#[test]
fn the_tables_say_what_the_published_counts_say() {
    let params: Vec<(&str, f64)> = vec![
        ("GPT-2-124M", 124_439_808.0),
        ("nanoGPT-124M", 124_373_760.0),
        ("GPT-2-350M", 354_823_168.0),
        ("GPT-2-774M", 774_030_080.0),
        ("GPT-2-1558M", 1_557_611_200.0),
        ("Llama-2-7B", 6_738_415_616.0),
        ("Llama-2-13B", 13_015_864_320.0),
        ("Llama-2-70B", 68_976_648_192.0),
        ("Llama-3-8B", 8_030_261_248.0),
        ("Llama-3.1-8B", 8_030_261_248.0),
        ("Llama-3-70B", 70_553_706_496.0),
        ("Llama-3.1-405B", 405_853_388_800.0),
        ("Mistral-7B-v0.1", 7_241_732_096.0),
        ("Qwen2.5-0.5B", 494_032_768.0),
        ("Qwen2.5-1.5B", 1_543_714_304.0),
        ("Qwen2.5-3B", 3_085_938_688.0),
        ("Qwen2.5-7B", 7_615_616_512.0),
        ("Qwen2.5-14B", 14_770_033_664.0),
        ("Qwen2.5-32B", 32_763_876_352.0),
        ("Qwen2.5-72B", 72_706_203_648.0),
        ("Qwen3-0.6B", 596_049_920.0),
    ];
    for (name, count) in params {
        let model = MODELS.iter().find(|m| m.name == name).expect(name);
        assert_eq!(model.params(), Some(count), "{name}");
    }
    for gpu in GPUS.iter() {
        assert!(
            (gpu.memory.ends_with("GB") || gpu.memory.ends_with("MiB"))
                && gpu.bandwidth > 1e11
                && !gpu.source.is_empty(),
            "{}",
            gpu.name
        );
        let peak = |dtype: &str| gpu.peaks.get(dtype).copied();
        // Sparse figures in this table would show as fp8 at four times bf16, or bf16 at four times tf32.
        if let (Some(bf16), Some(fp8)) = (peak("bf16"), peak("fp8")) {
            assert!(fp8 / bf16 < 2.1, "{}", gpu.name);
        }
    }
}

#[test]
fn what_fits_is_itemised_and_says_what_is_missing() {
    let serving = ask("fits-serving", "model=Llama-3-70B gpu=H100-SXM gpus=1");
    assert!(
        serving
            .rows
            .iter()
            .any(|r| r.name.en == "does not fit, missing" && r.value.is_some_and(|v| v > 60e9))
    );
    let training = ask("fits", "model=GPT-2-124M gpu=L4 gpus=1 stage=0 b=4 s=1024");
    let row = |name: &str| {
        training
            .rows
            .iter()
            .find(|r| r.name.en == name)
            .and_then(|r| r.value)
            .unwrap_or_else(|| panic!("{name}"))
    };
    let parts: f64 =
        ["weights", "gradients", "optimizer", "activations", "logits", "overhead"].map(row).iter().sum();
    assert!((parts - training.value.expect("a sum")).abs() < 1.0);
    assert!((row("fits, left") - (24e9 - parts)).abs() < 1.0);
    assert!((row("weights") + row("gradients") + row("optimizer") - 16.0 * 124_439_808.0).abs() < 1.0);
    assert_eq!(ask("fits", "gpus=8 t=3").value, None);
    let latent = ask("fits-serving", "model=DeepSeek-V3 N=671B bytes=fp8 gpus=8");
    assert!(latent.notes.iter().any(|n| n.en.contains("not divided over all GPUs")), "{latent:?}");
}

#[test]
fn k_is_a_thousand_and_says_so() {
    let answer = ask("kv-cache", "ctx=8k");
    assert!(answer.notes.iter().any(|n| n.en == "ctx=8k is 8,000; 8ki counts in 1024"), "{:?}", answer.notes);
    assert!(ask("kv-cache", "ctx=8Ki").notes.is_empty());
}

#[test]
fn a_sequence_beyond_the_models_context_is_told() {
    let told = |inputs| {
        ask("fits", inputs).notes.iter().any(|n| n.en.contains("longer than the context of GPT-2-124M"))
    };
    assert!(told("model=GPT-2-124M s=8192"));
    assert!(!told("model=GPT-2-124M s=1024"));
    assert!(!told("model=Llama-3-8B s=8192"));
}

#[test]
fn topics_have_names_and_calculators() {
    for topic in crate::calc::Topic::ALL {
        assert!(all().any(|c| c.topic == topic), "{topic:?}");
        assert!(!topic.name(Lang::Zh).is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn no_inputs_panic(which in 0_usize..200, at in 0_usize..20, text in "(\\PC{0,20}|[0-9]{1,19}[kMGTBi/s%]{0,4}|0|1e-12|1e30)") {
        let calculators: Vec<_> = all().collect();
        let calculator = calculators[which % calculators.len()];
        let inputs = calculator.all_inputs();
        let name = inputs[at % inputs.len()].name.to_owned();
        if let Ok(answer) = calculator.ask(&[(name, text)]) {
            prop_assert!(answer.value.is_none_or(f64::is_finite));
        }
    }
}

#[test]
fn the_labs_know_the_same_peaks_as_the_table() {
    use infralab_labs::formulas::gpt_shape::dense_bf16_peak_tflops;
    for (marketing, row) in [
        ("NVIDIA H200", "H200-SXM"),
        ("NVIDIA H100 80GB HBM3", "H100-SXM"),
        ("NVIDIA A100-SXM4-80GB", "A100-80GB-SXM"),
    ] {
        let gpu = GPUS.iter().find(|g| g.name == row).unwrap_or_else(|| panic!("{row} is not in the table"));
        assert_eq!(
            dense_bf16_peak_tflops(marketing).map(|p| p * 1e12),
            gpu.peaks.get("bf16").copied(),
            "{row}"
        );
    }
}
