#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# sqlite3: a database in memory. Each of its pages of 4 KiB is a separate object. Joins visit them
# through an index, in an order unlike that of their allocation.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
package=sqlite3
build_in() {
  command -v tclsh >/dev/null || die "sqlite3 is built with tclsh: install the package tcl"
  ./configure --disable-tcl --disable-readline --disable-shared --disable-load-extension
  make -j1 sqlite3
}
# Its suite needs the headers of tcl: known answers, and its own check of the structure.
test_in() {
  ./sqlite3 -batch -bail :memory: >known.out <<'SQL'
create table numbers(n integer primary key, square integer, name text unique);
with recursive up(n) as (select 1 union all select n + 1 from up where n < 20000)
insert into numbers
  select n, n * n, printf('%05d', 99999 - n) from up;
create index by_square on numbers(square);
delete from numbers where n % 3 = 0;
select count(*), sum(square), min(name), max(name) from numbers;
select a.n from numbers a join numbers b on a.square = b.square + 4 * b.n + 4
  where a.n < 10 order by 1;
pragma integrity_check;
SQL
  diff - known.out <<'KNOWN'
13334|1778044451111|79999|99998
4
7
ok
KNOWN
}
statements() { # ROWS
  cat <<SQL
pragma cache_size = -4000000;
create table person(id integer primary key, town integer, age integer, name text);
create table visit(person integer, day integer, cost integer);
with recursive up(n) as (select 1 union all select n + 1 from up where n < $1)
insert into person
  select n, (n * 7919) % 1009, (n * 31) % 90, printf('p%08d', (n * 7368787) % $1) from up;
with recursive up(n) as (select 1 union all select n + 1 from up where n < $1)
insert into visit select (n * 1299709) % $1 + 1, n % 365, (n * 17) % 1000 from up;
create index person_name on person(name);
create index visit_person on visit(person);
select count(*), sum(cost), min(day) from visit;
select age / 10, count(*), sum(cost) from person join visit on person = id group by 1 order by 1;
select town, count(*), sum(v.cost) from person p join visit v on v.person = p.id
  where p.name between 'p00000000' and 'p00020000' group by 1 order by 3 desc, 1 limit 20;
update person set age = age + 1 where id in (select person from visit where day = 100);
select sum(age) from person;
SQL
}
prepare() {
  statements 150000 >sqlite3-quick.sql
  statements 1000000 >sqlite3.sql
}
workload() {
  echo "$SMALLOC_WORK/$package/$1/sqlite3 -batch -bail :memory:" \
    "'.read $inputs/sqlite3${quick:+-quick}.sql'"
}
real_main "$@"
