"""Updates of a training run beside the matrix products that they execute."""

from lib.products import Bare, Recorder, in_turn
from neural_smt.training.loop import Trainer


def speed_of(trainer: Trainer, updates: int, seconds: float) -> dict[str, float]:
    """Speeds of so many updates, again and again for so many seconds, in turn with their products alone.

    seconds: of one round of updates; words_per_second; gflops, products_gflops: of the run, and of the products alone;
    share_of_products: of the time. A first round, which makes room and compiles, does not count.
    """

    def work() -> None:
        for _ in range(updates):
            trainer.update()

    work()
    before = trainer.progress.words
    with Recorder() as recorder:
        work()
    words = trainer.progress.words - before
    bare = Bare([recorder.products])
    whole, products = in_turn(work, bare.one_after_another, seconds)
    return {
        "seconds": whole,
        "words_per_second": words / whole,
        "gflops": bare.operations / whole / 1e9,
        "products_gflops": bare.operations / products / 1e9,
        "share_of_products": products / whole,
    }
