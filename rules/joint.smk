"""What the rules of recurrent joint models share: where their inputs lie, and what rescoring with them needs."""


def reads_references(network):
    """Whether a model reads the reference in place of the source sentence: an oracle."""
    return JOINT_INPUTS.get(network, {}).get("side") == "target"


def read_language(network):
    """The language of the sentences that a joint model reads."""
    return TARGET if reads_references(network) else SOURCE


def representation(network):
    """The folder of what a joint model reads."""
    return LAYOUT.representation(network)


def rescored_candidates(wildcards, name):
    """What choosing translations of a set needs; lists are drawn from lattices that are less pruned."""
    lists = SYSTEMS[wildcards.system]["rescoring"]["candidates"] == "nbest"
    return rescoring_inputs(wildcards, name, "dense" if lists else "lattices")


def rescored_set(wildcards):
    """The same of the set of a job."""
    return rescored_candidates(wildcards, wildcards.set)


def rescored_lists(wildcards):
    """What tuning chooses among: lattices with so many states a node, or lists of some length."""
    settings = SYSTEMS[wildcards.system]["rescoring"]
    return {"beam": settings["beam"], "lists": settings["nbest"] if settings["candidates"] == "nbest" else 0}


def rescoring_inputs(wildcards, name, density):
    """What choosing among lattices of a set needs: the lattices, and of the network its model and what it reads."""
    system, folder = SYSTEMS[wildcards.system], f"results/{wildcards.experiment}"
    network = rescoring_network(system)
    inputs = {"lattices": f"{folder}/decoding/{system['base']}/run{wildcards.run}/{name}.{density}"}
    if network:
        inputs["model"] = LAYOUT.network(network)
    if network in JOINT_INPUTS:
        inputs["sentences"] = f"{folder}/corpus/tokenised/{name}.{read_language(network)}"
        inputs["representation"] = representation(network)
    return inputs


def candidate_settings(wildcards):
    """Among which candidates, and how, a system's network chooses."""
    settings = SYSTEMS[wildcards.system]["rescoring"]
    return {key: settings[key] for key in ("candidates", "beam", "nbest")}


PAPER_SYSTEMS = [name for name in load_paper("auli2013.yaml").systems if name in SYSTEMS]


def joint_files():
    """What the tables of joint models are made from, by the names of the arguments of their step."""
    folder = f"results/{EXPERIMENT}"
    chosen = [name for name in PAPER_SYSTEMS if name in RESCORES_LATTICES]
    networks = {name: rescoring_network(SYSTEMS[name]) for name in chosen}
    bases = sorted({SYSTEMS[name]["base"] for name in chosen})
    decoded = f"{folder}/decoding/{{system}}/run{{run}}/{{set}}"
    tested = "recurrent" in PAPER_SYSTEMS
    return {
        "scores": {name: files for name, files in score_files(EXPERIMENT).items() if name in PAPER_SYSTEMS},
        "significance": {name: f"{folder}/evaluation/joint/{name}.json" for name in SETS} if tested else {},
        "perplexities": {
            name: f"{folder}/training/{network}/perplexity.json" for name, network in networks.items() if network
        },
        "choices": {
            system: {name: expand(f"{decoded}.json", system=system, run=RUNS, set=name) for name in SETS}
            for system in chosen
        },
        "searches": {name: expand(f"{decoded}.lattices.json", system=bases[:1], run=RUNS, set=name) for name in SETS},
        "oracles": (
            {name: expand(f"{decoded}.oracles.csv", system=bases[:1], run=1, set=name)[0] for name in SETS}
            if bases
            else {}
        ),
    }


def class_files():
    """What the table of word classes is made from: model -> its settings of classes, and its files."""
    folder = f"results/{EXPERIMENT}/training"
    names = {"curve": "curve.csv", "held_out": "held_out.json", "perplexity": "perplexity.json"}
    return {
        network: {
            "classes": NETWORK_SETTINGS[network]["classes"],
            "files": {key: f"{folder}/{network}/{name}" for key, name in names.items()},
        }
        for network in COMPARED_CLASSES
    }


def need_joint_rows():
    """Nothing, where some system chooses among lattices; else say what is missing."""
    if not RESCORES_LATTICES:
        raise WorkflowError(
            f"experiment {EXPERIMENT}: no system rescores lattices with a recurrent model; "
            "take --configfile experiments/multi30k_fr_en.yaml or give systems a 'rescore'"
        )
    return []
