# ruff: noqa: E501 (sentences stay on one line, as they are told)
"""Mistakes in texts, their archives, their alignment, and what is made of them."""

import gzip

from bad_inputs import Row, link, packed

FETCH = "corpus fetch --mirror '' --output out.gz --side"
EXTRACT = "corpus extract_member --output out.gz --archive a.tgz --member"
VOCABULARY = "corpus build_vocabulary --output out.tsv --texts"
CLEAN = "corpus clean_pairs --names a --sources a.en --targets a.fr --source-output o.en --target-output o.fr "
CLEAN += "--table o.csv --settings"
WORDS = "<unk>\t0\n<s>\t0\n</s>\t0\na\t2\n"
LEXICAL = "alignment build_lexical_tables --source a.en --target a.fr --alignment a.align --source-vocabulary v "
LEXICAL += "--target-vocabulary v --output out"
BOTH = {"a.en": "a a\na\n", "a.fr": "a\na a\n", "v": WORDS}
SYMMETRISE = "alignment symmetrise --forward f --backward b --output out --heuristic"
ALIGN = 'alignment align --settings \'{"aligner": "fast_align"}\' --seed 1 --output out --no-backward'
EVALUATE = "evaluation evaluate --hypothesis h --reference-tokens r --reference-text r --language fr --output out.json"
COMPARE = 'evaluation compare --reference r --seed 1 --output out.json --systems \'{"a": ["h"]}\''
MODEL = "language_model build_language_model --vocabulary v --output out --texts"
ESTIMATE = MODEL + """ a --settings '{"order": 2, "prune": [0], "estimator": "internal"}'"""
ARCHIVE = packed(**{"d/a.fr": b"un\n", "d/pipe": link("d/pipe", "/etc/passwd"), "../up.fr": b"deux\n"})

SELECT = (
    "selection select_text --pool p --in-domain i --dev d --seed 1 --output out --scores s --curve c.csv --plot p.png "
)
SELECT += """--settings '{"method": "moore_lewis", "fractions": [0.5], "order": 2, "random_samples": 1}'"""
LINES = "".join(f"{number} lines\n" for number in range(50))
RECURRENT = "training train_network --kind recurrent --device cpu --seed 1 --output m --curve c.csv --plot p.png "
RECURRENT += """--held-out p.json --state s --inputs '{"texts": ["a"]}' --settings"""


def attend(further: str = "", settings: str = '{"keep": "last"}', device: str = "cpu") -> str:
    """A command that trains an attention network; further: inputs besides."""
    sides = '"source": "a.en", "target": "a.fr", "source_vocabulary": "v", "target_vocabulary": "v"'
    return (
        f"training train_network --kind attention --device {device} --seed 1 --output m --curve c.csv --plot p.png "
        f"--held-out p.json --state s --settings '{settings}' --inputs '{{{sides}{further}}}'"
    )


REPRESENT = "representations build_representation --source a.en --target a.fr --output r --statistics s.json --seed 1 --settings"

ROWS = [
    # fetching
    Row(
        "a text with neither url nor path",
        FETCH + " '{}'",
        "a corpus file is declared without 'url' and without 'path'; give one of them",
    ),
    Row(
        "a path to nothing",
        FETCH + ' \'{"path": "a.en"}\'',
        "out.gz could not be obtained: a.en: no such file; check the path, URL or data_mirror",
    ),
    Row(
        "an address that is refused",
        FETCH + ' \'{"url": "file:///etc/passwd"}\'',
        "file:///etc/passwd: 'file' addresses are refused; use http, https or ftp, or a 'path'",
    ),
    Row(
        "a checksum of another file",
        FETCH + f' \'{{"path": "a.en", "sha256": "{"0" * 64}"}}\'',
        "a.en: its sha256 is 2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806 but the configuration declares 0000000000000000000000000000000000000000000000000000000000000000; the file has changed or is damaged, so remove it or correct the sha256",
        {"a.en": "one\n"},
    ),
    Row(
        "a gzipped text that is cut off",
        FETCH + ' \'{"path": "a.gz"}\'',
        "a.gz: a damaged gzip file (Compressed file ended before the end-of-stream marker was reached); fetch it again from its publisher",
        {"a.gz": gzip.compress(b"one\n" * 9)[:-9]},
    ),
    Row(
        "an archive without a member",
        FETCH + ' \'{"path": "a.tgz"}\'',
        "a.tgz: an archive of several files; name the one that is wanted as 'member'",
        {"a.tgz": ARCHIVE},
    ),
    Row(
        "a test set without segments",
        FETCH + ' \'{"path": "a.sgm"}\'',
        "a.sgm: holds no <seg>; give a test set as WMT publishes them, or text by another name",
        {"a.sgm": "<doc>\n</doc>\n"},
    ),
    Row(
        "a segment without its end",
        FETCH + ' \'{"path": "a.sgm"}\'',
        "a.sgm, line 2: a <seg> without </seg>; fetch the file again or fix it",
        {"a.sgm": "<seg>one</seg>\n<seg>two\n"},
    ),
    # archives
    Row(
        "an archive that is not there", EXTRACT + " a.fr", "a.tgz: no such file; fetch the archive, or correct its path"
    ),
    Row(
        "an archive that is none",
        EXTRACT + " a.fr",
        "a.tgz: a damaged archive, or none (file could not be opened successfully); fetch it again from its publisher",
        {"a.tgz": "not at all\n"},
    ),
    Row(
        "an archive that is cut off",
        EXTRACT + " d/b.fr",
        "a.tgz: a damaged archive, or none (Compressed file ended before the end-of-stream marker was reached); fetch it again from its publisher",
        {"a.tgz": ARCHIVE[:-30]},
    ),
    Row(
        "a member that is not there",
        EXTRACT + " d/a.en",
        "a.tgz: has no member d/a.en; is it d/a.fr?",
        {"a.tgz": ARCHIVE},
    ),
    Row(
        "a member that leaves its folder",
        EXTRACT + " ../up.fr",
        "'../up.fr' would leave the folder of its archive; name the file by its path inside the archive",
        {"a.tgz": ARCHIVE},
    ),
    Row(
        "a member by an absolute path",
        EXTRACT + " /etc/passwd",
        "'/etc/passwd' would leave the folder of its archive; name the file by its path inside the archive",
        {"a.tgz": ARCHIVE},
    ),
    Row(
        "a member that is a link",
        EXTRACT + " d/pipe",
        "a.tgz: its member d/pipe is a link to /etc/passwd; name a regular file that anyone can read",
        {"a.tgz": ARCHIVE},
    ),
    # texts
    Row("a text that is not there", VOCABULARY + " a.en", "a.en: no such file; check the path"),
    Row(
        "a folder for a text",
        VOCABULARY + " .",
        ".: cannot be read ([Errno 21] Is a directory: '.'); fetch or write the file again",
    ),
    Row(
        "a text in another encoding",
        VOCABULARY + " a.fr",
        "a.fr, line 3: not valid UTF-8 (byte 0xe9); convert the file to UTF-8",
        {"a.fr": b"un\ndeux\ncaf\xe9\n"},
    ),
    Row(
        "a text in UTF-16",
        VOCABULARY + " a.fr",
        "a.fr, line 1: not valid UTF-8 (byte 0xff); convert the file to UTF-8",
        {"a.fr": "un\n".encode("utf-16")},
    ),
    Row(
        "a text that is empty",
        VOCABULARY + " a.fr",
        "a.fr: no words to make a vocabulary of; give a text that is not empty",
        {"a.fr": ""},
    ),
    Row(
        "a text that is no gzip file",
        VOCABULARY + " a.gz",
        "a.gz: cannot be read (Not a gzipped file (b'on')); fetch or write the file again",
        {"a.gz": "one\n"},
    ),
    Row(
        "an output below a file",
        "corpus build_vocabulary --texts a --output a/v",
        "a: File exists; remove it, or name another place",
        {"a": "one\n"},
    ),
    Row(
        "an output that is a folder",
        "corpus build_vocabulary --texts d/a --output d",
        "d: Is a directory; name a file",
        {"d/a": "one\n"},
    ),
    Row(
        "sides that differ in length",
        CLEAN + " '{}'",
        "a.en has 2 lines but a.fr has 1; line i of one must be the translation of line i of the other",
        {"a.en": "a\nb\n", "a.fr": "a\n"},
    ),
    Row(
        "nothing left after cleaning",
        CLEAN + " '{\"max_length\": 1}'",
        "a: none of the 1 lines of a.en is left after cleaning; check the file and the limits max_length and max_ratio",
        {"a.en": "a b\n", "a.fr": "a b\n"},
    ),
    Row(
        "fewer sides than names",
        CLEAN.replace("--names a", "--names a b") + " '{}'",
        "2 names, 1 sources, 1 targets: give as many of each",
        {"a.en": "a\n", "a.fr": "a\n"},
    ),
    Row(
        "a shard that is none",
        "corpus tokenise --text a --language en --output out --shard 3-of-2",
        "shard 3 of 2: number shards from 1 to how many there are",
        {"a": "one\n"},
    ),
    Row(
        "a shard called otherwise",
        "corpus tokenise --text a --language en --output out --shard 1/2",
        "shard '1/2': name shards as 2-of-4 does, by number and how many there are",
        {"a": "one\n"},
    ),
    # vocabularies
    Row(
        "a vocabulary without counts",
        MODEL + ' a --settings \'{"order": 2, "prune": [0]}\'',
        "v, line 1: expected 'word<TAB>count'; make the vocabulary again",
        {"a": "a\n", "v": "a\n"},
    ),
    Row(
        "a count that is none",
        MODEL + ' a --settings \'{"order": 2, "prune": [0]}\'',
        "v, line 5: expected 'word<TAB>count'; make the vocabulary again",
        {"a": "a\n", "v": WORDS + "b\t\u00b2\n"},
    ),
    Row(
        "a vocabulary without its reserved words",
        MODEL + ' a --settings \'{"order": 2, "prune": [0]}\'',
        "v: does not start with <unk>, <s>, </s>; make the vocabulary again",
        {"a": "a\n", "v": "a\t1\n"},
    ),
    Row(
        "a shortlist of no words",
        "shortlist build_shortlists --source-text a --target-text a --size 0 --coverage '{}' --source-output s --target-output t --table c",
        "the shortlist size is 0; set it to 1 or more words",
        {"a": "a\n"},
    ),
    Row(
        "a network's vocabulary of no text",
        "vocabulary_selection build_network_vocabulary --text a --size 5 --output v",
        "a: holds no words to choose from; check the corpus stage",
        {"a": "\n"},
    ),
    # alignment
    Row(
        "links that are none",
        LEXICAL,
        "a.align, line 2: expected links such as 0-0 1-2 (positions up to 32767) but found '0:1'; write the alignment again in Pharaoh format",
        {**BOTH, "a.align": "0-0\n0:1\n"},
    ),
    Row(
        "a link outside its sentences",
        LEXICAL,
        "a.align, line 2: link 0-2 lies outside the sentence pair of 1 and 2 words in a.en; align that text again",
        {**BOTH, "a.align": "0-0\n0-2\n"},
    ),
    Row(
        "fewer lines of links than sentences",
        LEXICAL,
        "a.align has 1 lines but a.en has 2; align that text again",
        {**BOTH, "a.align": "0-0\n"},
    ),
    Row(
        "a possible link in an alignment",
        LEXICAL,
        "a.align, line 2: holds a possible link (i?j), which only a gold alignment may have",
        {**BOTH, "a.align": "0-0\n0?1\n"},
    ),
    Row(
        "a heuristic that is not known",
        SYMMETRISE + " grow",
        "alignment heuristic 'grow' is unknown; use one of intersection, union, grow-diag, grow-diag-final, grow-diag-final-and",
        {"f": "0-0\n", "b": "0-0\n"},
    ),
    Row(
        "directions of other texts",
        SYMMETRISE + " union",
        "f has 1 lines but b has 2; align both directions of the same text",
        {"f": "0-0\n", "b": "0-0\n0-0\n"},
    ),
    Row(
        "more sources than targets",
        ALIGN + " --sources a a --targets a",
        "2 sources, 1 targets: give as many of each",
        {"a": "a\n"},
    ),
    Row(
        "nothing to align",
        ALIGN + " --sources a --targets a",
        "a: holds no words to align; check the corpus and its cleaning",
        {"a": "\n\n"},
    ),
    Row(
        "an aligner's setting with a slip",
        ALIGN.replace('"}', '", "fast_align": {"iteration": 3}}') + " --sources a --targets a",
        "setting alignment.fast_align.iteration is unknown; use one of iterations, p0, tension, alpha",
        {"a": "a\n"},
    ),
    Row(
        "an aligner's setting of another kind",
        ALIGN.replace('"}', '", "fast_align": {"iterations": "many"}}') + " --sources a --targets a",
        "setting alignment.fast_align.iterations is 'many'; set it to a whole number",
        {"a": "a\n"},
    ),
    # language models
    Row(
        "no text for a language model",
        MODEL + ' --settings \'{"order": 2, "prune": [0]}\'',
        "language model: no texts are given; name at least one file",
        {"v": WORDS},
    ),
    Row(
        "a text of no words",
        ESTIMATE,
        "language model: the text has no words; check the files it is built from",
        {"a": "", "v": WORDS},
    ),
    Row(
        "pruning that falls",
        ESTIMATE.replace("[0]", "[0, 2, 1]"),
        "language model: prune [0, 2, 1] must start with 0, never fall, and have at most 2 numbers; correct the setting",
        {"a": "a\n", "v": WORDS},
    ),
    Row(
        "an amount of memory that is none",
        MODEL + ' a --settings \'{"order": 2, "prune": [0], "memory": "much"}\'',
        "language_model.memory is 'much'; give a number and one of b, K, M, G, T and %, such as 4G",
        {"a": "a\n", "v": WORDS},
    ),
    Row(
        "settings without the order",
        MODEL + " a --settings '{}'",
        "--settings: has no 'order'; give it",
        {"a": "a\n", "v": WORDS},
    ),
    # evaluation
    Row(
        "fewer translations than references",
        EVALUATE,
        "h has 1 lines but r has 2; line i of one must be the translation of line i of the other",
        {"h": "a\n", "r": "a\nb\n"},
    ),
    Row("nothing translated", EVALUATE, "h: holds no sentence to score; translate the set again", {"h": "", "r": ""}),
    Row(
        "a baseline that is not compared",
        COMPARE + ' --baseline b --settings \'{"test": "bootstrap", "trials": 100}\'',
        "setting evaluation.baseline: 'b' is no system; use one of a",
        {"h": "a\n", "r": "a\n"},
    ),
    Row(
        "a test that is not known",
        COMPARE + ' --baseline a --settings \'{"test": "t", "trials": 100}\'',
        "setting evaluation.test: 't' is unknown; use one of approximate_randomisation, bootstrap",
        {"h": "a\n", "r": "a\n"},
    ),
    Row(
        "a comparison without its settings",
        COMPARE + " --baseline a --settings '{}'",
        "--settings: has no 'test'; give it",
        {"h": "a\n", "r": "a\n"},
    ),
    # selection, training, representations
    Row(
        "text to select from that is empty",
        SELECT,
        "p: no text, but selection needs a pool and a dev set; give some or set method: none",
        {"p": "", "i": "a\n", "d": "a\n"},
    ),
    Row(
        "a way of selecting that is not known",
        SELECT.replace("moore", "more"),
        "selection: unknown method 'more_lewis'; set it to moore_lewis or none",
        {"p": "a\n", "i": "a\n", "d": "a\n"},
    ),
    Row(
        "a recurrent model of no text",
        RECURRENT + " '{}'",
        "a: no words to train on; check the selection stage",
        {"a": "\n"},
    ),
    Row(
        "a recurrent model of no units",
        RECURRENT + " '{\"hidden\": 0}'",
        "settings.hidden: 0 is less than the minimum of 1; correct it in the configuration",
        {"a": LINES},
    ),
    Row(
        "a rate that is a word",
        RECURRENT + ' \'{"rate": "slow"}\'',
        "settings.rate: expected number, found 'slow'; correct it in the configuration",
        {"a": "a\n"},
    ),
    Row(
        "a representation that is not there",
        RECURRENT.replace('["a"]', '["a"], "representation": "r"') + " '{}'",
        "r/config.json: no such file; run the step that makes it",
        {"a": LINES},
    ),
    Row(
        "an attention network of sides that differ",
        attend(),
        "a.en has 2 lines but a.fr has 1; line i of one must be the translation of line i of the other",
        {**BOTH, "a.fr": "a\n"},
    ),
    Row(
        "an attention network of no batch",
        attend(settings='{"batch": 0}'),
        "settings.batch: 0 is less than the minimum of 1; correct it in the configuration",
        BOTH,
    ),
    Row(
        "one side of held-out text",
        attend(', "held_out_source": "a.en"'),
        "held-out text needs both its sides; give held_out_source and held_out_target",
        BOTH,
    ),
    Row(
        "a device that is none",
        attend(device="gpu"),
        "device is 'gpu'; set it to auto, cpu or cuda",
        BOTH,
    ),
    Row(
        "a representation that is not known",
        REPRESENT + ' \'{"kind": "tfidf"}\'',
        "representation kind 'tfidf' is unknown; use one of sentence_lsa, projected_lsa, word_lsa, word_rnn, learned",
        BOTH,
    ),
    Row(
        "a representation of too many dimensions",
        REPRESENT + ' \'{"kind": "sentence_lsa", "dimensions": 9}\'',
        "a latent semantic analysis of 9 dimensions needs more sentences and repeated words than 2 and 1; lower the dimensions of the representation",
        BOTH,
    ),
]
