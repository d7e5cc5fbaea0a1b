"""All paths of lattices, and readers of lattice files, to hold what the package writes to it."""

import re
from collections import defaultdict
from functools import cache

import numpy as np

ITEM = re.compile(r'(\w+)=("[^"]*"|\S*)')


def all_paths(flat, sentence):
    """Every path through the lattice of a sentence, as lists of arcs, by recursion."""
    first, last = flat.node_offsets[sentence : sentence + 2].tolist()
    ways = {first: [[]]}
    for node in range(first + 1, last):
        arcs = range(int(flat.arc_offsets[node]), int(flat.arc_offsets[node + 1]))
        ways[node] = [[*way, arc] for arc in arcs for way in ways[int(flat.tails[arc])]]
    return ways[last - 1] if first < last else []


def _read_hypotheses(lines):
    """Sentence -> (fields, words) of each line of a Moses search graph."""
    graphs = defaultdict(list)
    for line in lines:
        number, rest = line.split(" ", 1)
        head, out, words = rest.partition(" out=")
        graphs[int(number)].append((dict(ITEM.findall(head)), words.strip('"') if out else ""))
    return graphs


def best_of_search_graph(lines, limit=1, weights=None):
    """Sentence -> (score, words) of the best complete paths of a Moses search graph, best first, by the hypotheses'
    back pointers; limit: how many, None for all.

    weights: those of ``core=(...)``, else the transitions count. Every node keeps the best ways into it, so this needs
    no k-best algorithm.
    """
    results = {}
    for number, hypotheses in _read_hypotheses(lines).items():
        ways, finals = defaultdict(list, {"0": [(0.0, ())]}), set()
        for fields, words in sorted((h for h in hypotheses if "back" in h[0]), key=lambda h: int(h[0]["stack"])):
            if weights is None:
                step = float(fields["transition"])
            else:
                step = weights @ np.array(fields["scores"].split("(")[1].split(")")[0].split(","), dtype=float)
            back, node = fields["back"], fields.get("recombined", fields["hyp"])
            ways[back] = sorted(ways[back], reverse=True)[:limit]
            added = tuple(words.split("|")[-1].split())
            ways[node] += [(score + step, before + added) for score, before in ways[back]]
            finals |= {node} if fields["forward"] == "-1" else set()
        assert limit or len(finals) == 1
        results[number] = sorted((way for node in finals for way in ways[node]), reverse=True)[:limit]
    return results


def read_slf(lines):
    """(score, words) of all paths of an SLF file, and its x-values summed along each."""
    into, end = defaultdict(list), None
    nodes = links = 0
    for line in lines:
        if line.startswith("start="):
            assert line.startswith("start=0 end=")
            end = line.split("end=")[1]
        elif line.startswith("NODES="):
            declared = tuple(int(part.split("=")[1]) for part in line.split())
        elif line.startswith("I="):
            nodes += 1
        elif line.startswith("J="):
            links += 1
            fields = dict(part.split("=", 1) for part in line.split())
            word = re.sub(r"\\(.)", r"\1", fields["W"])
            into[fields["E"]].append((fields["S"], float(fields["a"]), [] if word == "!NULL" else [word]))
    assert declared == (nodes, links)

    @cache
    def ways(node):
        if node == "0":
            return [(0.0, ())]
        return [(s + step, (*before, *words)) for tail, step, words in into[node] for s, before in ways(tail)]

    return ways(end)
