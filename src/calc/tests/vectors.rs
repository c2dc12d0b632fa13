//! Published and counted vectors, each through the calculator that answers it.

use super::{calculator, pairs};

/// Which calculator answers a vector, with which inputs besides those copied from the vector (`{name}` stands for
/// its input of that name).
struct Mapping {
    /// Beginning of the vector's id.
    id: &'static str,
    calculator: &'static str,
    inputs: &'static str,
    /// A row of the answer instead of its value.
    row: Option<&'static str>,
}

const fn map(id: &'static str, calculator: &'static str, inputs: &'static str) -> Mapping {
    Mapping { id, calculator, inputs, row: None }
}

const LLAMA: &str =
    "model=none L={L} h={h} n={n} nkv={nkv} d={d} ffn={ffn} V={V} tied={tied} qkv_bias={qkv_bias}";
const GPT2: &str = "model=none L={L} h={h} V={V} T={T} bias={bias}";
const DECODE: &str = "model=none gpu=H200-SXM N=8030261248 bytes=2 B={B} ctx={ctx} kv={kv} bw={bw}";
const POPQUIZ: &str = "model=none gpu=none N=30e9 bytes=1 B={B} ctx={ctx} kv=100e3 bw=1.296e13 peak=3.152e15";

/// The first mapping whose `id` begins the vector's id holds.
const MAPPINGS: &[Mapping] = &[
    map("params.gpt2-", "params-gpt2", GPT2),
    map("params.nanogpt-124M-padded", "params-gpt2", GPT2),
    Mapping {
        id: "params.nanogpt-124M-nonemb",
        calculator: "params-gpt2",
        inputs: GPT2,
        row: Some("without positions"),
    },
    map("params.", "params-llama", LLAMA),
    map("kv.gpt2-350M", "kv", "model=GPT-2-350M bytes={bytes}"),
    map("kv.gpt2-1558M", "kv", "model=GPT-2-1558M bytes={bytes}"),
    map("kv.DeepSeek-V3-MLA", "kv-mla", "model=none L={L} kv_lora={kv_lora} rope={rope} bytes={bytes}"),
    map(
        "kv.DeepSeek-V3-if-MHA",
        "kv-mla-expanded",
        "model=none n={n} nope={nope} rope={rope} v={v} L={L} kv_lora=512 bytes={bytes}",
    ),
    map("kv.DeepSeek-V3-ctx163840", "kv-cache", "model=DeepSeek-V3 kv_bytes={bytes} ctx={ctx}"),
    map("kv.", "kv", "model=none L={L} nkv={nkv} d={d} bytes={bytes}"),
    map("train.bpp-amp-autocast-fp32w", "training-state", "model=none N={N} recipe=autocast"),
    map("train.bpp-megatron-20", "training-state", "model=none N={N} recipe=megatron"),
    map("train.bpp-adam8bit+master", "training-state", "model=none N={N} recipe=adam8bit-master"),
    map("train.bpp-adam8bit-nomaster", "training-state", "model=none N={N} recipe=adam8bit"),
    map("zero.0", "zero", "model=none N={P} n={n} recipe=mixed stage=0"),
    map("zero.2", "zero", "model=none N={P} n={n} recipe=mixed stage=2"),
    map("ds.zero2-8gpu-offload", "deepspeed-estimator", "model=none N={P} n={n} stage=2 offload=optimizer"),
    map("ds.zero2-8gpu", "deepspeed-estimator", "model=none N={P} n={n} stage=2"),
    map("ds.zero3-8gpu", "deepspeed-estimator", "model=none N={P} largest={Pl} n={n} stage=3"),
    map("act.gpt3-175B-none", "activations", "model=none L={L} s={s} b={b} h={h} n={a} recompute=none"),
    map(
        "act.gpt3-175B-selective",
        "activations",
        "model=none L={L} s={s} b={b} h={h} n={a} recompute=selective",
    ),
    map("act.gpt3-175B-full", "activations", "model=none L={L} s={s} b={b} h={h} n={a} recompute=full"),
    map("act.gpt3-175B-saving", "activation-saving", "model=none s={s} h={h} n={a}"),
    map("act.playbook-", "activations", "model=none L={L} s={s} b={b} h={h} n=32 recompute=selective"),
    map(
        "act.gpt2-124M-b12-selective",
        "activations",
        "model=none L={L} s={s} b={b} h={h} n={a} recompute=selective",
    ),
    map("act.gpt2-124M-b12-full", "activations", "model=none L={L} s={s} b={b} h={h} n={a} recompute=full"),
    map("act.logits-", "logits", "model=none b={b} s={s} V={V} bytes=fp32"),
    map("flops.attn-bwd", "attention-flops", "b={b} s={s} n={n} d={d} causal={causal} pass=backward"),
    map("flops.attn-fwd", "attention-flops", "b={b} s={s} n={n} d={d} causal={causal}"),
    map(
        "mfu.124M-8xA100",
        "mfu",
        "model=GPT-2-124M N=123653376 T=1024 tokens={tok} time={sec} peak={peak} gpu=none",
    ),
    map(
        "mfu.350M-8xA100",
        "mfu",
        "model=GPT-2-350M N=353774592 T=1024 tokens={tok} time={sec} peak={peak} gpu=none",
    ),
    map("mfu.nanogpt-nb", "utilisation", "gpu=none flop=87506288640000 time={sec} peak={peak}"),
    map("peak.H100SXM-bf16", "peak", "gpu=H100-SXM fma=2048 clock={clock}"),
    map("ridge.", "ridge", "gpu=none peak={peak} bw={bw}"),
    map("ai.matmul", "matmul-intensity", "model=none B={B} D={D} F={F}"),
    map("ai.attn-prefill", "attention-intensity", "model=none S={S} T={T} n=1 nkv=1"),
    map("decode.llama3-8B", "decode", DECODE),
    map("decode.popquiz", "decode", POPQUIZ),
    map("paged.blocks", "kv-blocks", "t={t} block={block}"),
    map("paged.waste", "paging-waste", "block={block}"),
    map("busbw.ar-", "busbw-factor", "op=all-reduce n={n}"),
    map("busbw.ag-", "busbw-factor", "op=all-gather n={n}"),
    map("ring.steps", "ring-steps", "n={n}"),
    map("ar.124M-fp32-8", "allreduce-time", "S={bytes} n={n} busbw={busbw}"),
    map("bubble.p4m8-ratio", "pipeline-bubble", "p={p} m={m} of=ideal"),
    map("bubble.", "pipeline-bubble", "p={p} m={m}"),
    map("ckpt.nanogpt-explained", "checkpoint-size", "model=none N={params} bytes=12 masks={L} T={T}"),
    map("ckpt.nanogpt", "checkpoint-size", "model=none N={params} bytes=12"),
    map("ckpt.8B-14", "checkpoint-size", "model=none N={params} bytes=14"),
    map("ckpt.changlan", "young-daly", "save={d} mtbf={M} restart={R}"),
    map("young.", "young-daly", "save={d} mtbf={M}"),
    map("mtbf.llama3", "mtbf-gpu", "time={hours}h gpus={gpus} failures={failures}"),
    map("mtbf.64", "mtbf-cluster", "one={per_gpu}h gpus={gpus}"),
    map("ppl.init", "initial-loss", "model=none V={V}"),
    map("spec.speedup", "speculative-speedup", "a={a} g={g} c={c}"),
    map("spec.", "speculative", "a={a} g={g}"),
    map("tpot", "tpot", "e2e={E2E} ttft={TTFT} N={N}"),
    map("starve.serial", "starvation", "compute={tg}ms load={tl}ms"),
    map("starve.overlap", "starvation", "compute={tg}ms load={tl}ms loader=prefetch"),
    map("qcross.int4", "quantisation-crossover", "gpu=none bits={bits} peak={peak} bw={bw}"),
];

/// What a calculator answers in, over what a vector is written in.
fn scale(answered: &str, written: &str) -> Option<f64> {
    let gib = f64::from(1 << 30);
    Some(match (answered, written) {
        (a, w) if a == w => 1.0,
        ("B", "GiB") => gib,
        ("B", "GB") => 1e9,
        ("s", "ms") => 1e-3,
        ("s", "h" | "h/GPU") => 3600.0,
        ("FLOP/s", "TFLOP/s") => 1e12,
        ("token/pass", "token/step") => 1.0,
        _ => return None,
    })
}

fn filled(template: &str, inputs: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or("a brace is open")?;
        let value = inputs.split(';').filter_map(|p| p.split_once('=')).find(|(n, _)| *n == name);
        out += before;
        out += value.ok_or_else(|| format!("the vector has no {name}"))?.1;
        rest = after;
    }
    Ok(out + rest)
}

/// Whether a vector's row is met.
fn check(row: &str) -> Result<(), String> {
    let cells: Vec<&str> = row.split('\t').collect();
    let [id, _, _, inputs, expected, unit, tolerance, ..] = cells[..] else {
        return Err(format!("{row}: too few columns"));
    };
    let mapping =
        MAPPINGS.iter().find(|m| id.starts_with(m.id)).ok_or_else(|| format!("{id}: no mapping"))?;
    let given = filled(mapping.inputs, inputs).map_err(|why| format!("{id}: {why}"))?;
    let answer =
        calculator(mapping.calculator).ask(&pairs(&given)).map_err(|faults| format!("{id}: {faults:?}"))?;
    let (value, answered) = match mapping.row {
        None => (answer.value, answer.unit),
        Some(name) => {
            let row = answer.rows.iter().find(|r| r.name.en == name);
            let row = row.ok_or_else(|| format!("{id}: no row {name}"))?;
            (row.value, row.unit)
        }
    };
    let scale = scale(answered, unit).ok_or_else(|| format!("{id}: {answered} against {unit}"))?;
    let number = |text: &str| text.parse::<f64>().map_err(|e| format!("{id}: {text}: {e}"));
    let (expected, tolerance) = (number(expected)?, number(tolerance)?);
    let value = value.ok_or_else(|| format!("{id}: no value"))? / scale;
    // Exact means exact but for the last bit of a division.
    let near = (value - expected).abs() <= expected.abs() * tolerance.max(f64::EPSILON);
    if near { Ok(()) } else { Err(format!("{id}: {value} against {expected} ({})", answer.formula)) }
}

#[test]
fn every_vector_is_met_through_its_calculator() {
    let rows: Vec<&str> = include_str!("../../../tests/fixtures/vectors.tsv").lines().skip(1).collect();
    assert!(rows.len() >= 98, "{} rows", rows.len());
    let failures: Vec<String> = rows.iter().filter_map(|row| check(row).err()).collect();
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), rows.len(), failures.join("\n"));
}

#[test]
fn every_mapping_is_used() {
    let ids: Vec<&str> = include_str!("../../../tests/fixtures/vectors.tsv")
        .lines()
        .skip(1)
        .filter_map(|row| row.split('\t').next())
        .collect();
    for (i, mapping) in MAPPINGS.iter().enumerate() {
        let first = |id: &&&str| MAPPINGS.iter().position(|m| id.starts_with(m.id)) == Some(i);
        assert!(ids.iter().find(first).is_some(), "{} answers no vector", mapping.id);
    }
}
