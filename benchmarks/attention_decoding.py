"""Translation with attention networks: sentences per second with limited target vocabularies beside the full softmax.

Random weights; a translation has as many words as its source, and none ends before, so that the work is the same in
every case. Sets of 500 words a sentence (300 of them shared) and of 2,300 (2,000 shared), out of 30,000 target words or
500,000, the full softmax over 30,000. United: all hypotheses of a batch multiply with the words of all its sentences,
as CTranslate2 does with its vocabulary map; beyond those that are shared, words are drawn by 1 / rank, so that
sentences have some in common. CPU time is less disturbed by other work than the time that passes. Writes
benchmarks/results/attention_decoding.json.
"""

import time

from lib import RESULTS, network_parser

import neural_smt  # noqa: F401  (before PyTorch: it sets up OpenMP)

import torch  # isort: skip
from lib.searches import SIZES, Case, random_search  # isort: skip

from neural_smt.experiment.settings import section_settings
from neural_smt.io.files import write_json
from neural_smt.networks.attention.network import AttentionConfig, AttentionNetwork
from neural_smt.networks.device import describe_device, select_device

SOURCE_WORDS = 30_000
SENTENCES = {"small": 32, "paper": 8}
"""Size -> how many are translated, all in one batch."""

CASES = (
    Case(30_000, 300, 200),
    Case(30_000, 300, 200, united=True),
    Case(500_000, 300, 200),
    Case(30_000, 2000, 300),
    Case(30_000, 2000, 300, united=True),
    Case(500_000, 2000, 300),
    Case(30_000, 0, 0),
)


def measure(size: str, case: Case, device: str, precision: str, beam: int, seconds: float) -> dict[str, float]:
    """Sentences per second, the best of several rounds."""
    network = AttentionNetwork(AttentionConfig(SOURCE_WORDS, case.words, **SIZES[size])).to(select_device(device))
    count = SENTENCES[size]
    settings = section_settings(
        "decoding.attention", {"beam": beam, "max_length_ratio": 1, "max_length_extra": 0, "precision": precision}
    )
    source, sets, translate = random_search(network, case, count, settings)
    rounds, processor = [], []
    began = time.perf_counter()
    while not rounds or time.perf_counter() - began < seconds:
        start, busy = time.perf_counter(), time.process_time()
        translate()
        rounds.append(time.perf_counter() - start)
        processor.append(time.process_time() - busy)
    return {
        **case._asdict(),
        "vocabulary": float(case.words if sets is None else sets.sizes.mean()),
        "sentences_per_second": count / min(rounds),
        "words_per_second": len(source.values) / min(rounds),
        "cpu_seconds_per_sentence": min(processor) / count,
    }


def main() -> None:
    """Measure the chosen sizes and print a table."""
    parser = network_parser(__doc__, SIZES)
    parser.set_defaults(seconds=3.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--beam", type=int, default=12)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    device = describe_device(select_device(arguments.device))
    print(f"device: {device}, {arguments.precision}, {arguments.threads} threads, beam {arguments.beam}")
    print(f"{'size':7}{'of':>8}{'predicted from':>23}{'sentences/s':>13}{'words/s':>9}{'CPU s/sentence':>16}")
    results = {}
    for size in arguments.sizes:
        rows = [
            measure(size, case, arguments.device, arguments.precision, arguments.beam, arguments.seconds)
            for case in CASES
            if size == "small" or case.words == 30_000
        ]
        for row in rows:
            how = "all" if row["own"] == 0 else "united" if row["united"] else f"{row['shared']} + {row['own']}"
            print(
                f"{size:7}{row['words']:8}{how:>16}{row['vocabulary']:7.0f}{row['sentences_per_second']:13.2f}"
                f"{row['words_per_second']:9.0f}{row['cpu_seconds_per_sentence']:16.4f}"
            )
        results[size] = [{key: round(value, 4) for key, value in row.items()} for row in rows]
    description = {"device": device, "precision": arguments.precision, "threads": arguments.threads}
    write_json(RESULTS / "attention_decoding.json", description | {"beam": arguments.beam, "sizes": results})


if __name__ == "__main__":
    main()
