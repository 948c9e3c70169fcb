// Package orderid makes the ids of orders. It owns their layout and the blocks of numbers
// that this process holds. It imports package seckill, and nothing else of ours.
package orderid

import (
	"math"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

// An id has 63 bits: seconds since 2025-01-01 UTC (31 bits), then the sequence of that UTC
// day (32 bits). A sequence is given out once in its day, and the seconds always lie within
// that day: so ids differ whatever the clocks and time zones of the nodes do.
const (
	sequenceBits = 32
	sequenceMax  = 1<<sequenceBits - 1
	secondsMax   = 1<<31 - 1
	daySeconds   = 24 * 60 * 60
)

// epoch is the second the seconds of ids count from. It begins a UTC day.
var epoch = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC).Unix()

// Time returns when the id was made, by the clock of its maker, in whole seconds UTC.
func Time(id seckill.OrderID) time.Time {
	return time.Unix(epoch+int64(id>>sequenceBits), 0).UTC()
}

// Sequence returns the number that no other id of its UTC day has, from 1.
func Sequence(id seckill.OrderID) int64 { return int64(id) & sequenceMax }

// Last returns the largest id that can be made up to the second of the instant.
func Last(instant time.Time) seckill.OrderID {
	return compose(min(max(instant.Unix()-epoch, 0), secondsMax), sequenceMax)
}

// Bounds returns the ids of the UTC day that holds the instant: from <= id < to. The
// instant must lie within the years ids can be made for, 2025 to 2093.
func Bounds(instant time.Time) (from, to seckill.OrderID) {
	return bounds((instant.Unix() - epoch) / daySeconds)
}

func bounds(day int64) (from, to seckill.OrderID) {
	begin, end := day*daySeconds, (day+1)*daySeconds
	if end > secondsMax {
		return compose(begin, 0), math.MaxInt64 // the last day is cut short by the 31 bits
	}
	return compose(begin, 0), compose(end, 0)
}

func compose(seconds, sequence int64) seckill.OrderID {
	return seckill.OrderID(seconds<<sequenceBits | sequence)
}
