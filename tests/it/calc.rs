//! `infralab calc` as scripts see it.

use serde_json::Value;

use crate::cli::in_temp;

fn json(args: &[&str]) -> Value {
    let (code, out, err) = in_temp(&[&["calc"], args, &["--json"]].concat());
    assert_eq!(code, 0, "{args:?}: {err}");
    serde_json::from_str(&out).expect("one object")
}

#[test]
fn an_answer_is_one_object_in_base_units() {
    let answer = json(&["kv", "model=Llama-3-8B", "bytes=bf16"]);
    assert_eq!((&answer["value"], &answer["unit"]), (&131_072.into(), &"B/token".into()));
    assert_eq!(answer["name"], "kv");
    assert_eq!(answer["inputs"]["L"], 32);
    assert_eq!(answer["inputs"]["model"], "Llama-3-8B");
    assert_eq!(answer["formula"], "2·32·8·128·2 B");
    assert!(answer["source"].as_str().is_some_and(|s| s.contains("2505.09343")));
    assert!(answer["rows"].as_array().is_some_and(|r| !r.is_empty()));
    let keys: Vec<&String> = answer.as_object().expect("object").keys().collect();
    let allowed = ["name", "inputs", "value", "unit", "formula", "source", "rows", "notes"];
    assert!(keys.iter().all(|k| allowed.contains(&k.as_str())), "{keys:?}");
}

#[test]
fn what_has_no_number_is_null_with_a_note() {
    let (code, out, _) = in_temp(&["calc", "sampling-alias", "P=1s", "D=15s", "--json"]);
    let answer: Value = serde_json::from_str(&out).expect("one object");
    assert_eq!(code, 1, "no number is a negative answer");
    assert_eq!(answer["value"], Value::Null);
    assert!(answer["notes"][0].as_str().is_some_and(|n| n.contains("flat line")), "{answer}");
    assert_eq!(json(&["kv-cache", "window=none"])["inputs"]["window"], Value::Null);
}

#[test]
fn the_text_shows_units_the_numbers_in_the_formula_the_rows_and_the_source() {
    let (code, out, _) = in_temp(&["calc", "decode", "B=64", "ctx=８Ki", "bw=4.8TB/s"]);
    assert_eq!(code, 0);
    for part in [
        "17.66 ms",
        "64·8192·131072 B/4.8 TB/s",
        "B·ctx·kv/bw",
        "read the KV cache        14.32 ms",
        "H200-SXM",
        "given",
        "source: jax-ml",
    ] {
        assert!(out.contains(part), "{part}:\n{out}");
    }
    assert!(!out.contains('\x1b'), "no escape codes in a pipe");
}

#[test]
fn without_inputs_it_answers_for_its_defaults_and_names_them() {
    let (code, out, _) = in_temp(&["calc", "fits"]);
    assert_eq!(code, 0);
    for part in ["inputs", "recipe", "autocast | fp32", "mem", "default", "fits, left"] {
        assert!(out.contains(part), "{part}:\n{out}");
    }
}

#[test]
fn the_list_is_by_topic_and_every_name_in_it_answers() {
    let (code, out, _) = in_temp(&["calc"]);
    assert_eq!(code, 0);
    assert!(out.contains("Checkpoints and failures\n"), "{out}");
    let (_, lines, _) = in_temp(&["calc", "list", "--json"]);
    let names: Vec<String> = lines
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).expect("object")["name"].as_str().expect("name").to_owned())
        .collect();
    assert!(names.len() > 50, "{names:?}");
    assert!(names.iter().all(|n| out.contains(n.as_str())));
    for table in ["models", "gpus"] {
        let (code, out, _) = in_temp(&["calc", table]);
        assert!(code == 0 && out.lines().count() > 10, "{out}");
    }
}

#[test]
fn mistakes_are_told_with_what_to_give_instead_and_code_2() {
    for (args, part) in [
        (&["calc", "kvcash"][..], "near it: kv-cache"),
        (&["calc", "params"], "params-llama"),
        (&["calc", "qqqqqqqqqq"], "calc list"),
        (&["calc", "kv", "L"], "name=value"),
        (&["calc", "kv", "colour=red"], "model, L, nkv, d, bytes"),
        (&["calc", "kv", "model=GPT-9"], "model=none"),
        (&["calc", "decode", "bw=80GiB"], "4.8TB/s"),
        (&["calc", "ridge", "gpu=V100-SXM2-32GB"], "give peak="),
    ] {
        let (code, out, err) = in_temp(args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(part), "{args:?}: {err}");
    }
}
