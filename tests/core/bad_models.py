# ruff: noqa: E501 (sentences stay on one line, as they are told)
"""Mistakes in models: of Moses, of networks, weights, n-best lists, and tables of results."""

import json
import pickle
from typing import Any

import numpy as np
from bad_inputs import Files, Row
from safetensors.numpy import save

from neural_smt.vocabulary import Vocabulary

TABLE = "a ||| x ||| 0.5 0.4 0.5 0.5 ||| 0-0 ||| 2 2 1 ||| |||\n"
ARPA = "\\data\\\nngram 1=4\n\n\\1-grams:\n-1.5\t<unk>\n-99\t<s>\n-1\t</s>\n-0.7\tx\n\n\\end\\\n"
FEATURES = {
    "table": "PhraseDictionaryMemory num-features=4 path=table",
    "lm": "KENLM path=lm.arpa",
    "length": "WordPenalty",
}
WEIGHTS = {"table": "PhraseDictionaryMemory0= 1 1 1 1", "lm": "KENLM0= 1", "length": "WordPenalty0= -1"}
DECODE = "decode --moses-ini moses.ini --input text --output out --compiled off"


def moses(table: str | bytes = TABLE, arpa: str = ARPA, sections: str = "", **changes: str) -> Files:
    """A model of Moses. changes: another line in the place of one of ``FEATURES``, or as ``weight_of_...`` of the
    weights.
    """
    features = "\n".join(changes.get(name, line) for name, line in FEATURES.items())
    weights = "\n".join(changes.get(f"weight_of_{name}", line) for name, line in WEIGHTS.items())
    ini = f"[feature]\n{features}\n[weight]\n{weights}\n{sections}"
    return {"moses.ini": ini, "table": table, "lm.arpa": arpa, "text": "a\n"}


WORDS = "<unk>\t0\n<s>\t0\n</s>\t0\na\t2\n"
REORDER = "decoding rerank --nbest n --weights w.json --output out --statistics s.json"
RESCORE = "tuning tune_reranking --nbest n --reference r --start w.json --seed 1 --weights o.json --history h.csv "
RESCORE += "--plot p.png --settings"
LIST = "0 ||| a ||| LM0= -1 ||| -1\n"
SHARDS = "decoding join_translations --text t --parts p --part-statistics s.json --output out --statistics o.json"
INSPECT = "inspect --source t --line 1 --source-vocabulary v --target-vocabulary v --network-vocabulary v"
TABLE_OF = "report print_table --table t.csv"
EMBED = "analysis embed_words --model m --output o.csv --seed 1 --settings '{}'"
KNOWN = Vocabulary(["<unk>", "<s>", "</s>", "a"], [0, 0, 0, 2])
SIZES = {"source_words": 4, "target_words": 4, "hidden": 2, "embedding": 2, "maxout": 2, "rank": 2, "conventions": {}}


def network(weights: bytes | None = None, vocabulary: str = WORDS, **changes: Any) -> Files:
    """The folder of an encoder-decoder; changes: of what it says of itself."""
    description = {
        "network": "encoder_decoder",
        "config": SIZES,
        "vocabularies": {"source": KNOWN.digest, "target": KNOWN.digest},
    }
    files = {"m/config.json": json.dumps(description | changes), "m/vocabulary.source": vocabulary}
    files["m/vocabulary.target"] = WORDS
    return files if weights is None else files | {"m/weights.safetensors": weights}


REPORT = 'report write_table --significance \'{}\' --csv-output o.csv --markdown-output o.md --scores \'{"a": {"dev": ["e.json"]}}\''

ROWS = [
    # moses.ini
    Row("a moses.ini that is not there", DECODE, "moses.ini: no such file; check the path"),
    Row(
        "a line before any section",
        DECODE,
        "moses.ini, line 1: 'WordPenalty' stands in no section; write a line like [feature] before it",
        {"moses.ini": "WordPenalty\n"},
    ),
    Row(
        "a section without its bracket",
        DECODE,
        "moses.ini, line 1: '[feature' has no closing bracket; write [section]",
        {"moses.ini": "[feature\n"},
    ),
    Row(
        "a moses.ini without a table",
        DECODE,
        "moses.ini: expected one PhraseDictionaryMemory and a KENLM under [feature]; add what is missing",
        moses(table="", arpa=ARPA) | {"moses.ini": "[feature]\nWordPenalty\n"},
    ),
    Row(
        "a table that is not there",
        DECODE,
        "moses.ini, line 3: there is no file tabel (nor tabel.gz); correct the path",
        moses(table=TABLE)
        | {"moses.ini": "[feature]\nKENLM path=lm.arpa\nPhraseDictionaryMemory num-features=4 path=tabel\n"},
    ),
    Row(
        "a feature that is not supported",
        DECODE,
        "moses.ini, line 4: the feature OpSequenceModel is not supported; remove it",
        moses(length="OpSequenceModel path=osm"),
    ),
    Row(
        "an argument without a value",
        DECODE,
        "moses.ini, line 3: expected arguments like name=value, each once, not 'path'; correct the feature",
        moses(lm="KENLM path"),
    ),
    Row(
        "a section that is not known",
        DECODE,
        "moses.ini, line 10: the section [xml-input] is not supported; remove it",
        moses(sections="[xml-input]\nexclusive\n"),
    ),
    Row(
        "a stack of words",
        DECODE,
        "moses.ini, line 10: expected a whole number, not 'large'; correct it",
        moses(sections="[stack]\nlarge\n"),
    ),
    Row(
        "a feature without its weight",
        DECODE,
        "moses.ini: [weight] has no line for KENLM0; add 'KENLM0=' and its 1 numbers",
        moses(weight_of_lm=""),
    ),
    Row(
        "too few weights of a feature",
        DECODE,
        "moses.ini, line 6: PhraseDictionaryMemory0 has 4 scores but 2 weights; correct the line",
        moses(weight_of_table="PhraseDictionaryMemory0= 1 1"),
    ),
    Row(
        "a weight that is no number",
        DECODE,
        "moses.ini, line 7: expected 'Name= numbers', not 'KENLM0= x'; correct the weight",
        moses(weight_of_lm="KENLM0= x"),
    ),
    Row(
        "a weight of no feature",
        DECODE,
        "moses.ini, line 10: there is no feature LM9 under [feature]; remove the weight or add the feature",
        moses(sections="[weight]\nLM9= 1\n"),
    ),
    Row("no threads", DECODE + " --threads 0", "--threads must be at least 1, not 0; correct it", moses()),
    Row(
        "a list without its size",
        DECODE + " --nbest list",
        "--nbest takes FILE SIZE [distinct], not 'list'; correct the option",
        moses(),
    ),
    # tables and language models as text
    Row(
        "a row of a table with a field missing",
        DECODE,
        "table, line 2: expected 'source ||| target ||| scores ||| alignment'; export the table again",
        moses(TABLE + "a ||| y\n"),
    ),
    Row(
        "a score that is no number",
        DECODE,
        "table, line 2: a field cannot be read ('x' is not a number); export the table again",
        moses(TABLE + "a ||| y ||| 0.5 x 0.5 0.5 ||| 0-0 ||| 1 1 1\n"),
    ),
    Row(
        "a row with too few scores",
        DECODE,
        "table, line 2: has 2 scores where line 1 has 4; export the table again",
        moses(TABLE + "a ||| y ||| 0.5 0.5 ||| 0-0 ||| 1 1 1\n"),
    ),
    Row(
        "a link outside its phrases",
        DECODE,
        "table, line 2: a link lies outside the phrases ('0-1'); export the table again",
        moses(TABLE + "a ||| y ||| 1 1 1 1 ||| 0-1 ||| 1 1 1\n"),
    ),
    Row(
        "a phrase pair twice", DECODE, "table, line 2: this phrase pair stands here twice; remove one", moses(TABLE * 2)
    ),
    Row("a table that is empty", DECODE, "table: holds no phrase pair; export the table again", moses("")),
    Row(
        "a table of other scores than the ini says",
        DECODE,
        "table: has 3 scores but moses.ini says num-features=4; correct it",
        moses(TABLE.replace("0.4 ", "")),
    ),
    Row(
        "an ARPA file without a header",
        DECODE,
        "lm.arpa, line 1: no \\data\\ header; give a language model in ARPA format",
        moses(arpa="\\1-grams:\n-1\ta\n"),
    ),
    Row(
        "an ARPA file that is cut off",
        DECODE,
        "lm.arpa, line 6: fewer 1-grams than the 4 that the header declares; the ARPA file is damaged, make it again",
        moses(arpa=ARPA[:-30]),
    ),
    Row(
        "an ARPA file with a score that is none",
        DECODE,
        "lm.arpa, line 8: expected a number, which must be finite; the ARPA file is damaged, make it again",
        moses(arpa=ARPA.replace("-0.7", "good")),
    ),
    Row(
        "an ARPA file that promises more",
        DECODE,
        "lm.arpa, line 9: fewer 1-grams than the 5 that the header declares; the ARPA file is damaged, make it again",
        moses(arpa=ARPA.replace("1=4", "1=5")),
    ),
    # weights and lists
    Row(
        "weights that are no JSON",
        REORDER,
        "w.json, line 1: not valid JSON (Expecting property name enclosed in double quotes); run the step that makes it again",
        {"n": LIST, "w.json": '{"LM0": [1],}'},
    ),
    Row(
        "weights that are a list",
        REORDER,
        "w.json: expected an object of feature names and lists of numbers; tune the system again",
        {"n": LIST, "w.json": "[1]"},
    ),
    Row(
        "weights that are words",
        REORDER,
        "w.json: expected an object of feature names and lists of numbers; tune the system again",
        {"n": LIST, "w.json": '{"LM0": ["1"]}'},
    ),
    Row(
        "weights in another encoding",
        REORDER,
        "w.json: not a JSON file; run the step that makes it again",
        {"n": LIST, "w.json": b"\xff\xfe{\x00"},
    ),
    Row(
        "a line that is no entry of a list",
        REORDER,
        "n, line 2: expected 'id ||| words ||| Name0= values ||| total'; write the list again",
        {"n": LIST + "0 ||| a\n", "w.json": '{"LM0": [1]}'},
    ),
    Row(
        "a list of a sentence before the first",
        REORDER,
        "n, line 1: expected 'id ||| words ||| Name0= values ||| total'; write the list again",
        {"n": "-" + LIST, "w.json": '{"LM0": [1]}'},
    ),
    Row(
        "lists without the feature of a weight",
        REORDER,
        "the n-best list has 1 scores of LM0, but there are 0 weights for it; give the weights that were tuned for these lists",
        {"n": LIST, "w.json": '{"LM1": [1]}'},
    ),
    Row(
        "lists that are empty",
        RESCORE + " '{}'",
        "the n-best lists are empty; list translations of the development set",
        {"n": "", "r": "a\n", "w.json": '{"LM0": [1]}'},
    ),
    Row(
        "lists of more sentences than references",
        RESCORE + " '{}'",
        "the n-best lists go beyond the 1 sentences of the reference; decode again",
        {"n": LIST + "1" + LIST[1:], "r": "a\n", "w.json": '{"LM0": [1]}'},
    ),
    Row(
        "lists with other numbers of scores",
        RESCORE + " '{}'",
        "the n-best list has 2 values of the feature LM0 for sentence 0, but the system has 1; decode again",
        {"n": LIST + LIST.replace("-1 |", "-1 -2 |"), "r": "a\n", "w.json": '{"LM0": [1]}'},
    ),
    Row(
        "an option of tuning with a slip",
        RESCORE + " '{\"restart\": 1}'",
        "setting tuning.restart is unknown; use one of optimiser, candidates, nbest, density, iterations, restarts, refinements, mira, min_gain, select, beam, lists",
        {"n": LIST, "r": "a\n", "w.json": '{"LM0": [1]}'},
    ),
    Row(
        "statistics of a shard that are none",
        SHARDS,
        "s.json: holds no JSON object; run the step that makes it again",
        {"t": "a\n", "p": "x\n", "s.json": "[]"},
    ),
    # networks
    Row("a network that is not there", EMBED, "m/config.json: no such file; run the step that makes it"),
    Row(
        "a network that says nothing of itself",
        EMBED,
        "m/config.json: not an encoder-decoder's configuration ('network'); train it again",
        network() | {"m/config.json": "{}"},
    ),
    Row(
        "a network of another kind",
        EMBED,
        "m/config.json: not an encoder-decoder's configuration (it is of the network 'attention'); train it again",
        network(network="attention"),
    ),
    Row(
        "a network of a size that is a word",
        EMBED,
        "m/config.json: not an encoder-decoder's configuration ('<' not supported between instances of 'str' and 'int'); train it again",
        network(config=SIZES | {"hidden": "many"}),
    ),
    Row(
        "a network with another vocabulary",
        EMBED,
        "m/vocabulary.source: not the vocabulary that the model was trained with; put the original file back or train the model again",
        network(vocabulary=WORDS + "b\t1\n"),
    ),
    Row(
        "a network without weights",
        EMBED,
        "m/weights.safetensors: cannot be loaded (No such file or directory: m/weights.safetensors); train the model again",
        network(),
    ),
    Row(
        "a pickle in the place of weights",
        EMBED,
        "m/weights.safetensors: cannot be loaded (Error while deserializing header: header too large); train the model again",
        network(pickle.dumps({"a": 1})),
    ),
    Row(
        "weights that are cut off",
        EMBED,
        "m/weights.safetensors: cannot be loaded (Error while deserializing header: invalid header length); train the model again",
        network(b'\x20\0\0\0\0\0\0\0{"a":'),
    ),
    Row(
        "weights of another network",
        EMBED,
        'm/weights.safetensors: cannot be loaded (Missing key(s) in state_dict: "source_embedding.weight", "source_embedding.bias", "target_embedding.weight", [...]); train the model again',
        network(save({"a": np.zeros(3, dtype=np.float32)})),
    ),
    # vocabularies of a sentence, tables of results
    Row(
        "a line that the text does not have",
        INSPECT.replace("--line 1", "--line 9") + ' --settings \'{"phrases": 0, "dictionary": 0}\'',
        "t: has 1 lines, so there is no line 9; name one of them",
        {"t": "a\n", "v": WORDS},
    ),
    Row(
        "a part of a vocabulary without its source",
        INSPECT + " --settings '{}'",
        "setting vocabularies.dictionary is 10, but no lexical is given; give one, or set it to 0",
        {"t": "a\n", "v": WORDS},
    ),
    Row("a table of results that is not there", TABLE_OF, "t.csv: no such file; check the path"),
    Row(
        "a table of results that is another",
        TABLE_OF,
        "t.csv: has no column 'system'; give a table of systems",
        {"t.csv": "a,b\n1,2\n"},
    ),
    Row(
        "a table with a short row",
        TABLE_OF,
        "t.csv, line 2: not a row of a CSV table (1 cells under a header of 2); run the step that makes it again",
        {"t.csv": "system,dev:sacrebleu\nrnn\n"},
    ),
    Row(
        "a table without one of its columns",
        TABLE_OF,
        "t.csv: has no column 'runs'; give a table of systems",
        {"t.csv": "system,dev:sacrebleu\nrnn,1\n"},
    ),
    Row(
        "an evaluation without a score",
        REPORT,
        "e.json: has no 'tokenised_bleu'; run the step that makes it again",
        {"e.json": '{"sacrebleu": 1}'},
    ),
]
