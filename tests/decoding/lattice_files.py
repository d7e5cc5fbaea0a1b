"""Readers of lattice files, to hold what the package writes to it."""

import re
from collections import defaultdict

import numpy as np

ITEM = re.compile(r'(\w+)=("[^"]*"|\S*)')


def _read_hypotheses(lines):
    """Sentence -> (fields, words) of each line of a Moses search graph."""
    graphs = defaultdict(list)
    for line in lines:
        number, rest = line.split(" ", 1)
        head, out, words = rest.partition(" out=")
        graphs[int(number)].append((dict(ITEM.findall(head)), words.strip('"') if out else ""))
    return graphs


def read_search_graphs(lines):
    """Sentence -> (score, words) of all complete paths of a Moses search graph, by its hypotheses' back pointers."""
    return {number: _paths(hypotheses) for number, hypotheses in _read_hypotheses(lines).items()}


def _paths(hypotheses):
    into = defaultdict(list)  # hypothesis that stands for a node -> the ways into it
    for fields, words in hypotheses:
        if "back" in fields:
            node = fields.get("recombined", fields["hyp"])
            into[node].append((fields["back"], float(fields["transition"]), words.split("|")[-1].split()))
    finals = {f.get("recombined", f["hyp"]) for f, _ in hypotheses if f["forward"] == "-1"}
    assert len(finals) == 1
    return _ways(finals.pop(), "0", into)


def _ways(node, start, into, known=None):
    known = {} if known is None else known
    if node == start:
        return [(0.0, ())]
    if node not in known:
        known[node] = [
            (score + step, before + tuple(words))
            for tail, step, words in into[node]
            for score, before in _ways(tail, start, into, known)
        ]
    return known[node]


def best_of_search_graph(lines, limit=1, weights=None):
    """Sentence -> (score, words) of the best paths, best first, for graphs with too many paths to list.

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
    return _ways(end, "0", into)
