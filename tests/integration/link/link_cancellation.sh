# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# No object of libsmalloc refers to a function of the C library that is a cancellation point
# (POSIX.1-2017, section 2.9.5.2). A thread that is cancelled inside malloc or free would leave
# locks of libsmalloc held. fork/runtime_cancel.sh shows it for the calls that this kernel takes.
. "$(dirname "$0")/../support/lib.sh"
points='accept|accept4|clock_nanosleep|close|connect|creat|fdatasync|fsync|lockf|msgrcv|msgsnd|msync|nanosleep|open|openat|pause|poll|ppoll|pread|pselect|pthread_cond_timedwait|pthread_cond_wait|pthread_join|pthread_testcancel|pwrite|pwritev|preadv|read|readv|recv|recvfrom|recvmsg|select|sem_timedwait|sem_wait|send|sendmsg|sendto|sigsuspend|sigtimedwait|sigwait|sigwaitinfo|sleep|system|tcdrain|usleep|wait|wait3|wait4|waitid|waitpid|write|writev'
find "$SMALLOC_BUILD/smalloc" -name '*.o' >objects
[ "$(wc -l <objects)" -ge 20 ] || skip "no objects of libsmalloc in this build folder"
calls_in() { xargs nm -A -u | sed -nE "s/^(.*\.o): +[Uw] (__)?($points)(64)?(@.*)?$/\1 calls \3/p"; }
# The pattern finds what it has to.
printf '#include <unistd.h>\nint f(void) { return usleep(1); }\n' >sleeper.c
"$CLANG" -c sleeper.c -o sleeper.o
[ "$(echo sleeper.o | calls_in)" = 'sleeper.o calls usleep' ] || fail "nm shows no undefined functions"
calls_in <objects >found
[ ! -s found ] || { cat found; fail "libsmalloc calls cancellation points"; }
