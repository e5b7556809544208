/* Ranks that issue collectives in any order, by hand: P ranks, each of which takes part in K
 * collectives (at most 4) of all ranks, one after the other. ORDERED: all in the same order.
 */
#ifndef P
#define P 2
#endif
#ifndef K
#define K 2
#endif

byte here[K];  /* ranks that have come to the collective */

#define may_issue(k) ((k) < K && !(has_issued & (1 << (k))))

proctype rank() {
  byte issued;      /* how many it has, */
  byte has_issued;  /* which: a bit each, */
  byte now;         /* and in which one it is */
  do
  :: issued < K ->
     if
#ifdef ORDERED
     :: true -> now = issued
#else
     :: may_issue(0) -> now = 0
     :: may_issue(1) -> now = 1
     :: may_issue(2) -> now = 2
     :: may_issue(3) -> now = 3
#endif
     fi;
     has_issued = has_issued | (1 << now);
     here[now]++;
     here[now] == P;
     issued++
  :: else -> break
  od
}

init {
  byte r;
  atomic {
    do
    :: r < P -> run rank(); r++
    :: else -> break
    od
  }
}
