package run

import (
	"context"
	"runtime"
)

// Headroom is part with so many bytes of garbage more before it is collected, on top of
// Go's usual share. A program that holds a few MB and turns them over many times a second
// would have its collector run all the time.
func Headroom(bytes int, part Part) Part {
	return func(intake, work context.Context) error {
		ballast := make([]byte, bytes) // the collector counts it; never touched, it takes no memory
		defer runtime.KeepAlive(ballast)
		return part(intake, work)
	}
}
