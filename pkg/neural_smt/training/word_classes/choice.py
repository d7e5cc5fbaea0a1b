"""The word classes that the settings ask for."""

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.networks.recurrent.configuration import WordClasses
from neural_smt.training.joint_text import predicted_counts
from neural_smt.training.recurrent_settings import ClassSettings
from neural_smt.training.word_classes.exchange import exchange
from neural_smt.training.word_classes.partition import by_frequency, cheapest


def choose_classes(settings: ClassSettings, sentences: Ragged, words: int) -> WordClasses:
    """Classes of so many words (``BOS`` among them), counted in training sentences of ids."""
    if settings.count > words - 1:
        raise UserError(
            f"training: classes.count is {settings.count}, but the text has {words - 1} words to predict; lower it"
        )
    counts = predicted_counts(sentences, words)
    if settings.method == "frequency":
        return by_frequency(counts, settings.count)
    classes = cheapest(counts, settings.count)
    return exchange(sentences, words, classes, settings.speed) if settings.method == "exchange" else classes
