// Package sqlstore owns all SQL of the sale: the tables, every statement on them, and what
// the errors of a database mean. MySQL 8 and MariaDB 10.6 or newer are what it is for;
// SQLite serves the demo and runs the same tests. It may import package seckill only.
//
// Every statement of a transaction goes through that transaction, so one connection is
// enough for any method. Orders are inserted in the order of their keys, vouchers are
// deducted last and in the order of theirs, so that writers queue up rather than deadlock.
package sqlstore
