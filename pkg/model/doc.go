// Package model is the protocol of one voucher, small enough to explore every interleaving
// of it. A Redis script and an SQL transaction are one step each; every process may stop for
// good, or pause for any time, between two of its steps; a reply may be lost, which is a
// process that stops after its step; and Redis may lose all keys, one of them, or fall back
// to an older state.
//
// The explorer goes breadth first, so the trace of a broken rule is a shortest one. In every
// state it checks what must always hold (rules.go), and then lets everything that is left to
// do run to its end, to check what must hold at rest (rest.go). A mistake (mistake.go)
// switches one rule of the protocol off; each has to be found, so that silence means something.
//
// README.md says which rule is where in the code and which configurations cover it. Only the
// tests of this package use it; it imports nothing of ours but faultnet, in its tests.
package model
