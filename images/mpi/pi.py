"""Every rank throws its darts, the first one counts."""
import random

from mpi4py import MPI

DARTS = 200000
world = MPI.COMM_WORLD
random.seed(world.rank)
inside = sum(random.random() ** 2 + random.random() ** 2 < 1 for _ in range(DARTS))
total, hosts = world.reduce(inside, MPI.SUM, 0), world.gather(MPI.Get_processor_name(), 0)
if world.rank == 0:
    print("ranks %d pi %.4f hosts %s" % (world.size, 4 * total / DARTS / world.size, " ".join(sorted(set(hosts)))), flush=True)
