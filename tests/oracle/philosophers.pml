/* Dining philosophers by hand: N of them eat R times each. ORDERED: the last one takes his right fork
 * first, so that all take the fork with the smaller number first.
 */
#ifndef N
#define N 6
#endif
#ifndef R
#define R 2
#endif

bool taken[N];

inline take(fork) { atomic { !taken[fork] -> taken[fork] = true } }

proctype philosopher(byte i) {
  byte first;
  byte second;
  byte rounds;
  if
#ifdef ORDERED
  :: i == N - 1 -> first = 0; second = i
#endif
  :: else -> first = i; second = (i + 1) % N
  fi;
  for (rounds : 1 .. R) {
    take(first);
    take(second);
    taken[second] = false;
    taken[first] = false
  }
}

init {
  byte i;
  atomic {
    do
    :: i < N -> run philosopher(i); i++
    :: else -> break
    od
  }
}
