"""Memory contention once more, Algorithms 1 to 4 of D line by line: what `mpistair predict --memory` gives is held against
this. Bandwidths are in the unit of the parameters. Papers are named as in share/doc/MODELS.md."""

QUANTITIES = ("cores_par", "total_par", "cores_seq", "total_seq", "total_par2", "alpha", "loss_left", "loss_right", "computation",
              "message")
SIDES = {"intra_socket": "local", "inter_socket": "remote"}


def read_table(path):
    """{"local": {quantity: value}, "remote": ...}, NUMA nodes and cores of a socket."""
    machine = {"numa_nodes": 1, "cores": 0}
    with open(path) as file:
        for words in (line.split("#")[0].split() for line in file):
            if len(words) == 6 and words[2].startswith("memory_"):
                machine.setdefault(SIDES[words[0]], {})[words[2].removeprefix("memory_")] = float(words[4])
            elif len(words) == 6 and words[2] in ("numa_nodes", "cores"):
                machine[words[2]] = int(float(words[4]))
    return machine


def predict_total(side, number_cores):
    """Algorithm 1: T[i], i = 1 .. number_cores."""
    total = {}
    for i in range(1, number_cores + 1):
        if i <= side["cores_par"]:
            total[i] = side["total_par"]
        elif i <= side["cores_seq"]:
            total[i] = side["total_par"] - side["loss_left"] * (i - side["cores_par"])
        else:
            total[i] = side["total_par2"] - side["loss_right"] * (i - side["cores_seq"])
    return total


def predict_bandwidths(side, number_cores):
    """Algorithm 2: computation and message together, computation alone; each by i. Its None are 1 and 0 here, what n = 0
    gives."""
    total = predict_total(side, number_cores)
    computation, message, alone = {}, {}, {}
    beta_v, beta_i = 1.0, 0
    for i in range(1, number_cores + 1):
        alone[i] = min(side["computation"] * i, total[i], side["total_seq"])
        if i * side["computation"] + side["alpha"] * side["message"] < total[i]:
            computation[i] = i * side["computation"]
            message[i] = min(total[i] - computation[i], side["message"])
            beta_v = message[i] / side["message"]
            beta_i = i
        else:
            alpha_i = side["alpha"]
            if side["cores_seq"] - side["cores_par"] > 1 and i < side["cores_seq"]:
                delta_c = (beta_v - side["alpha"]) / (side["cores_seq"] - beta_i)
                alpha_i = beta_v - delta_c * (i - beta_i)
            message[i] = alpha_i * side["message"]
            computation[i] = total[i] - message[i]
    return computation, message, alone


def message_bandwidths(machine, m_comp, m_comm, number_cores):
    """Algorithm 3, and the message alone."""
    if m_comp == m_comm and m_comp >= machine["numa_nodes"]:
        side = machine["remote"]
    elif m_comm >= machine["numa_nodes"]:
        side = {**machine["local"], "message": machine["remote"]["message"]}
    else:
        side = machine["local"]
    return predict_bandwidths(side, number_cores)[1], side["message"]


def computation_bandwidths(machine, m_comp, m_comm, number_cores):
    """Algorithm 4, and computation alone."""
    side = machine["local" if m_comp < machine["numa_nodes"] else "remote"]
    together, _, alone = predict_bandwidths(side, number_cores)
    return together if m_comp == m_comm else alone, alone


def predict(machine, m_comp, m_comm, number_cores):
    """{n: (computation, computation alone, message, message alone)}."""
    message, message_alone = message_bandwidths(machine, m_comp, m_comm, number_cores)
    computation, alone = computation_bandwidths(machine, m_comp, m_comm, number_cores)
    return {n: (computation[n], alone[n], message[n], message_alone) for n in range(1, number_cores + 1)}
