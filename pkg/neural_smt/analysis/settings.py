"""Settings of the analyses."""

from dataclasses import dataclass


@dataclass(frozen=True)
class AnalysisSettings:
    """phrases: source phrases drawn for each group of Tables 2 and 3; min_words: length from which a phrase is long;
    frequent: how many of the most frequent long phrases the frequent ones are drawn from; rare: most often that a rare
    phrase was extracted; samples: drawn for each source phrase; pairs: points of Figure 3; words, long_phrases: points
    of Figures 4 and 5; perplexity: of t-SNE; zooms: regions drawn larger.
    """

    phrases: int = 5
    min_words: int = 4
    frequent: int = 200
    rare: int = 10
    samples: int = 50
    pairs: int = 20000
    words: int = 2500
    long_phrases: int = 5000
    perplexity: float = 30.0
    zooms: int = 3
