"""What becomes of a model under laze, as text: graphs, programs, what PyTorch runs, and what would be compiled again."""
from __future__ import annotations

import copy
import dataclasses
from typing import Any, Callable

import torch
from torch._dynamo.utils import counters

from laze_torch._program import Plan, Program


@dataclasses.dataclass
class Graph:
    """One graph that PyTorch found, and what it costs at the sizes at hand."""
    kind: str  # "forward", "backward" or "inference"
    operators: int
    programs: list[dict[str, int]]  # of each what laze_cost has: kernels, instances, interpreted, work, ..._bytes
    texts: list[str]  # of laze's graphs
    fallbacks: list[tuple[str, str]]  # operators that PyTorch runs, and why
    open_sizes: dict[str, int]  # sizes that may change, and what they are now

    def __str__(self) -> str:
        kernels, interpreted = (sum(cost[name] for cost in self.programs) for name in ("kernels", "interpreted"))
        lines = [f"{self.kind}: {_count(self.operators, 'operator')} of PyTorch, {_count(len(self.programs), 'program')} "
                 f"of {_count(kernels, 'kernel')}" + (f", of which laze interprets {interpreted}" if interpreted else "")]
        most = max((cost["temporary_bytes"] for cost in self.programs), default=0)
        lines.append(f"  memory: {_bytes(sum(cost['output_bytes'] for cost in self.programs))} of results, "
                     f"{_bytes(most)} between them")
        lines += [f"  left to PyTorch: {name}: {reason}" for name, reason in self.fallbacks]
        return "\n".join(lines)


@dataclasses.dataclass
class Explanation:
    """Of all graphs of a model; str() is for people."""
    graphs: list[Graph]
    graph_breaks: list[str]  # why PyTorch went on in Python, with another graph behind it

    def __str__(self) -> str:
        lines = [str(graph) for graph in self.graphs]
        lines += [f"graph break: {reason}" for reason in self.graph_breaks]
        return "\n".join([*lines, *self._recompiles()]) if self.graphs else "PyTorch found no graph"

    def _recompiles(self) -> list[str]:
        opened = {name: size for graph in self.graphs for name, size in graph.open_sizes.items()}
        if opened:
            sizes = ", ".join(f"{name} (now {size})" for name, size in opened.items())
            return [f"compiled for any {sizes}; another rank, dtype or fixed size is traced once more"]
        return ["compiled for these sizes; the first other one is traced once more, for any from then on; so is another "
                "rank or dtype"]


def _count(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


def _bytes(number: int) -> str:
    size, unit = float(number), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{number} B" if unit == "B" else f"{size:.1f} {unit}"


def describe(kind: str, plan: Plan) -> Graph:
    programs = [step for step in plan.steps if isinstance(step, Program)]
    return Graph(kind, sum(node.op == "call_function" for node in plan.nodes),
                 [step.program.cost(plan.hints) for step in programs],
                 [str(step.program) for step in programs],
                 [(step.name, step.reason) for step in plan.fallbacks], dict(plan.hints))


def run_both_ways(model: Callable[..., Any], compiled: Callable[[Any], Callable[..., Any]], graphs: list[Graph],
                  args: tuple[Any, ...], named: dict[str, Any]) -> Explanation:
    """Runs a copy of a model once, there and back, under `compiled`, which adds its graphs to `graphs`."""
    twin = copy.deepcopy(model) if isinstance(model, torch.nn.Module) else model
    before = dict(counters["graph_break"])
    with torch.random.fork_rng(devices=[]):
        results = torch.utils._pytree.tree_leaves(compiled(twin)(*args, **named))
        _go_back(twin, args, named, [result for result in results if isinstance(result, torch.Tensor)])
    breaks = [reason.strip().partition("\n")[0] for reason, count in counters["graph_break"].items()
              if count > before.get(reason, 0)]
    return Explanation(graphs, breaks)


def _go_back(model: Any, args: Any, named: Any, results: list[torch.Tensor]) -> None:
    """The way back, which leaves the gradients of inputs as they are."""
    results = [result for result in results if result.requires_grad]
    given = [leaf for leaf in torch.utils._pytree.tree_leaves((args, named)) if isinstance(leaf, torch.Tensor)]
    sources = [*given, *(model.parameters() if isinstance(model, torch.nn.Module) else ())]
    sources = [source for source in sources if source.requires_grad]
    if results and sources:
        torch.autograd.grad(results, sources, [torch.ones_like(result) for result in results], allow_unused=True)
