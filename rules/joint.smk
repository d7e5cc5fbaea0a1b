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


def candidates_of(wildcards, name):
    """What a system chooses among for a set, and its network with all that this reads; lists that are drawn from
    lattices come from lattices that are less pruned.
    """
    system, folder = SYSTEMS[wildcards.system], f"results/{wildcards.experiment}"
    network, kind = rescoring_network(system), rescored_candidates(config, wildcards.system)
    decoded = f"{folder}/decoding/{system['base']}/run{wildcards.run}/{name}"
    found = {
        "lists": {"nbest": f"{decoded}.nbest.gz"},
        "lattice": {"lattices": f"{decoded}.lattices"},
        "nbest": {"lattices": f"{decoded}.dense"},
    }[kind]
    return found | (LAYOUT.scoring_files(network, name) if network else {})


def rescored_set(wildcards):
    """The same for the set of a job."""
    return candidates_of(wildcards, wildcards.set)


def tuning_candidates(wildcards):
    """The same for the development set: lists are tuned on once they are scored."""
    if wildcards.system in RESCORES_LATTICES:
        return candidates_of(wildcards, CORPUS["dev"])
    folder = f"results/{wildcards.experiment}/decoding/{wildcards.system}/run{wildcards.run}"
    return {"nbest": f"{folder}/{CORPUS['dev']}.scored.nbest.gz"}


def network_settings(wildcards):
    """How the network of a system that rescores is used."""
    return LAYOUT.scoring_settings(rescoring_network(SYSTEMS[wildcards.system]))


def lists_need_alignment(wildcards):
    """Whether a joint model scores the lists of a system: it reads what words are aligned to."""
    scored = [SYSTEMS[name] for name in RESCORES_LISTS if SYSTEMS[name]["base"] == wildcards.system]
    return any(rescoring_network(system) in JOINT_INPUTS for system in scored)


def scoring_threads(wildcards):
    """Two for a CSLM, whose products are large; attention networks score with one."""
    return 2 if kind_of(config, rescoring_network(SYSTEMS[wildcards.system])) == "cslm" else 1


def listed_entries(wildcards):
    """Entries of each list that a network scores: all for a CSLM, which is fast (0)."""
    system = SYSTEMS[wildcards.system]
    return 0 if kind_of(config, rescoring_network(system)) == "cslm" else system["rescoring"]["nbest"]


def candidate_settings(wildcards):
    """How a system chooses among lattices."""
    settings = SYSTEMS[wildcards.system]["rescoring"]
    return {key: settings[key] for key in ("beam", "nbest")} | {
        "candidates": rescored_candidates(config, wildcards.system)
    }


def reranking_settings(wildcards):
    """How its weights are tuned: lists need random points alone, lattices iterations too."""
    kind, settings = rescored_candidates(config, wildcards.system), SYSTEMS[wildcards.system]["rescoring"]
    if kind == "lists":
        return {key: config["tuning"][key] for key in ("restarts", "refinements")}
    keys = ("nbest", "iterations", "restarts", "refinements", "min_gain", "select")
    lists = settings["nbest"] if kind == "nbest" else 0
    return {"beam": settings["beam"], "lists": lists} | {key: config["tuning"][key] for key in keys}


def need_joint_rows():
    """Nothing, where some system chooses among lattices; else say what is missing."""
    if not RESCORES_LATTICES:
        raise WorkflowError(
            f"experiment {EXPERIMENT}: no system rescores lattices with a recurrent model; "
            "take --configfile experiments/multi30k_fr_en.yaml or give systems a 'rescore'"
        )
    return []
