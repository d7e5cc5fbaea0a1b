"""A synchronous grammar of English and French: one derivation, two sentences and the links between their words.

``french`` and ``english`` inflect; ``nouns``, ``verbs``, ``modifiers`` and ``names`` are the lexicon's tables, read by
``lexicon``; ``domains`` says how news, parliament and everyday talk differ; ``noun_phrases``, ``verb_groups``,
``adjuncts``, ``clauses`` and ``sentences`` hold the rules; ``derivation`` carries the state of one sentence and
``writing`` turns tokens into ordinary text.
"""
