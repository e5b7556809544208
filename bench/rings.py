#!/usr/bin/env python3
"""Prints a large collective algorithm as MSCCL's XML: an all-reduce over rings.

    bench/rings.py [RANKS] [RINGS] > rings.xml

On every rank, each ring has two thread blocks of RANKS steps, one that sums and one that gathers,
which share all chunks of the ring. 43 ranks and 6 rings give 516 thread blocks and 22,188 steps.
"""

import sys


def main(ranks, rings):
    print(
        f'<algo name="rings" proto="LL" nchannels="{rings}" nchunksperloop="{ranks * rings}" '
        f'ngpus="{ranks}" coll="allreduce" inplace="1">'
    )
    for rank in range(ranks):
        print(f'<gpu id="{rank}" i_chunks="{ranks * rings}" o_chunks="0" s_chunks="0">')
        for ring in range(rings):
            peers = f'send="{(rank + 1) % ranks}" recv="{(rank - 1) % ranks}"'
            sums = ["s"] + ["rrs"] * (ranks - 2) + ["rrc"]
            gathers = ["s"] + ["rcs"] * (ranks - 2) + ["r"]
            for phase, kinds in enumerate((sums, gathers)):
                block = 2 * ring + phase
                print(f'<tb id="{block}" {peers} chan="{block}">')
                for number, kind in enumerate(kinds):
                    chunk = ring * ranks + (rank - number + phase) % ranks
                    waits = phase == 1 and number == 0
                    told = int(phase == 0 and number == ranks - 1)
                    needs = f'depid="{block - 1}" deps="{ranks - 1}"' if waits else 'depid="-1" deps="-1"'
                    print(
                        f'<step s="{number}" type="{kind}" srcbuf="i" srcoff="{chunk}" dstbuf="i" '
                        f'dstoff="{chunk}" cnt="1" {needs} hasdep="{told}"/>'
                    )
                print("</tb>")
        print("</gpu>")
    print("</algo>")


if __name__ == "__main__":
    main(*[int(argument) for argument in sys.argv[1:]] or [43, 6])
