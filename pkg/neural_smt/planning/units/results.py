"""Units of work of evaluation."""

from neural_smt.planning.experiment import Experiment
from neural_smt.planning.jobs import Job
from neural_smt.planning.units.sharing import Units


def evaluated(job: Job, x: Experiment) -> Units:
    """Words of a set."""
    return {"words": x.text(job.wildcards["set"]).words[x.sizes.target]}


def compared(job: Job, x: Experiment) -> Units:
    """Sentences of a set, for every translation of theirs that takes part in trials."""
    chosen = len(x.systems) if job.rule != "compare_neighbours" else min(4, len(x.systems))
    runs = x.config["tuning"]["runs"]
    text = x.text(job.wildcards["set"])
    return {
        "words": text.words[x.sizes.target] * chosen * runs,
        "trials": text.lines * chosen * x.config["evaluation"]["trials"],
    }
