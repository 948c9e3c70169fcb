//go:build race

package model

// firstMost is how many states of a sale are looked at: the race detector makes the explorer,
// which is one goroutine, some thirty times slower.
const firstMost = 8_000

const whole = false
