//go:build !race

package model

import "math"

const firstMost = math.MaxInt32

const whole = true
