package seckill

import "time"

// LagUnknown is the lag of a stream of which Redis cannot tell it.
const LagUnknown = -1

// StreamInfo is the state of one order stream. The zero value is that of a stream that
// does not exist.
type StreamInfo struct {
	Length    int64         // entries in it: accepted, and not yet settled
	Pending   int64         // of those, read by a worker
	Lag       int64         // of those, read by none; LagUnknown where Redis cannot tell
	Oldest    time.Duration // age of the oldest entry; 0: there is none
	Buried    int64         // messages in its dead stream
	Consumers []Consumer
}

// Consumer is a name in the group of workers.
type Consumer struct {
	Name    string
	Pending int64         // entries it holds
	Idle    time.Duration // since it last asked for some
}
