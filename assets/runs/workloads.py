#!/usr/bin/env python3
"""The workloads of the shipped gpu-*.jsonl.gz recordings; each does one thing to a GPU, for a while.

Needs PyTorch with CUDA. To make a recording again:

    infralab gpu --record gpu-matmul.jsonl.gz --hz 20 --seconds 16 -- python3 workloads.py matmul --seconds 10
"""

import argparse
import os
import signal
import sys
import time


def until(seconds):
    """Steps until the time is over, counted from the first."""
    start = time.monotonic()
    while time.monotonic() - start < seconds:
        yield


def idle(torch, seconds):
    """A process with a context and nothing to do."""
    torch.cuda.synchronize()
    time.sleep(seconds)


def matmul(torch, seconds):
    """bf16 8192 x 8192 x 8192 products back to back: arithmetic is the limit."""
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    out = torch.empty_like(a)
    for _ in until(seconds):
        for _ in range(20):
            torch.mm(a, b, out=out)
        torch.cuda.synchronize()


def copy(torch, seconds):
    """8 GiB from device memory to device memory: its bandwidth is the limit."""
    source = torch.ones(8 << 30, device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)
    for _ in until(seconds):
        for _ in range(10):
            target.copy_(source)
        torch.cuda.synchronize()


def spin(torch, seconds):
    """One thread of one SM that waits for a clock: GPU-util reads 100 %, nothing is done."""
    for _ in until(seconds):
        torch.cuda._sleep(100_000_000)
        torch.cuda.synchronize()


def tiny_ops(torch, seconds):
    """Additions of 1,024 numbers each: starting a kernel takes longer than the kernel."""
    x = torch.zeros(1024, device="cuda")
    for _ in until(seconds):
        for _ in range(2000):
            x.add_(1.0)
        torch.cuda.synchronize()


def decode(torch, seconds):
    """The matrices of an 8B-parameter model times one token at a time, as a CUDA graph: decoding at batch 1."""
    hidden, kv, inner, layers, vocabulary = 4096, 1024, 14336, 32, 128256
    new = lambda rows, columns: torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16).mul_(0.01)
    shapes = [(hidden + 2 * kv, hidden), (hidden, hidden), (2 * inner, hidden), (hidden, inner)]
    model = [[new(*shape) for shape in shapes] for _ in range(layers)]
    head = new(vocabulary, hidden)
    keys, values = (torch.randn(layers, 8, 4096, 128, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    token = torch.randn(hidden, device="cuda", dtype=torch.bfloat16)
    functional = torch.nn.functional

    def step():
        x = token
        for layer, (qkv, out, up, down) in enumerate(model):
            q = (qkv @ x)[:hidden].view(1, 32, 1, 128)
            k, v = keys[layer][None], values[layer][None]
            a = functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
            x = x + out @ a.reshape(hidden)
            gate, value = (up @ x).chunk(2)
            x = x + down @ (functional.silu(gate) * value)
        return (head @ x).argmax()

    with torch.no_grad():
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        tokens, start = 0, time.monotonic()
        for _ in until(seconds):
            graph.replay()
            torch.cuda.synchronize()
            tokens += 1
        print(f"{tokens / (time.monotonic() - start):.1f} tokens/s", file=sys.stderr)


def training(torch, seconds, wait_s):
    model = torch.nn.Sequential(
        *(layer for _ in range(12) for layer in (torch.nn.Linear(4096, 4096), torch.nn.GELU()))
    ).to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    data = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    for _ in until(seconds):
        time.sleep(wait_s)
        for _ in range(4):
            model(data).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        torch.cuda.synchronize()


def train(torch, seconds):
    """Training steps whose data are there."""
    training(torch, seconds, 0.0)


def starved(torch, seconds):
    """The same steps, every four of them after 60 ms of waiting for their data."""
    training(torch, seconds, 0.06)


def killed(torch, seconds):
    """Products in a process that holds 40 GiB and is killed as the out-of-memory killer would."""
    held = torch.ones(40 << 30, device="cuda", dtype=torch.uint8)
    matmul(torch, seconds)
    del held
    os.kill(os.getpid(), signal.SIGKILL)


WORKLOADS = {f.__name__.replace("_", "-"): f for f in (idle, matmul, copy, spin, tiny_ops, decode, train, starved, killed)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--after", type=float, default=2.0, help="seconds of rest before and after the work")
    arguments = parser.parse_args()
    import torch

    torch.zeros(1, device="cuda")
    time.sleep(arguments.after)
    WORKLOADS[arguments.workload](torch, arguments.seconds)
    time.sleep(arguments.after)


if __name__ == "__main__":
    main()
