"""The translator of a system, whatever its kind."""

from neural_smt.systems import is_rescored
from neural_smt.translation.experiment import Experiment
from neural_smt.translation.results import Translator


def load_translator(
    experiment: Experiment, system: str | None, run: int = 1, device: str | None = None, threads: int = 1
) -> Translator:
    """A tuned system of an experiment, ready to translate; device: that of the configuration where none is given.

    Raises ``UserError`` where there is no such system, or one of its results is missing.
    """
    name = experiment.choose_system(system, run)
    chosen = experiment.config["systems"][name]
    device = device or experiment.config["device"]
    if chosen.get("translate"):
        from neural_smt.translation.attention import AttentionTranslator  # loads PyTorch

        return AttentionTranslator.load(experiment, name, device)
    if experiment.rescores_lattices(name):
        from neural_smt.translation.lattices import LatticeTranslator

        return LatticeTranslator.load(experiment, name, run, device, threads)
    if is_rescored(chosen):
        from neural_smt.translation.lists import ListTranslator

        return ListTranslator.load(experiment, name, run, device, threads)
    from neural_smt.translation.search import SearchTranslator, load_decoder

    return SearchTranslator(load_decoder(experiment, name, run, device, threads))
