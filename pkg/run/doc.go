// Package run starts and stops programs by two contexts. Intake ends first: nothing new is
// accepted or read. Work ends later, and only if it must: it cuts short what is in hand.
// The package owns signals, the limits of a stop, servers, periodic work and pauses after
// failures. It imports nothing of ours.
package run
