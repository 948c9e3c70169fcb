package config

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
)

// consumerMax is the longest name that may be given. A host name has 253 characters at
// most, so a name that is made fits, too.
const consumerMax = 300

// NewName names this process. Host and process id repeat in containers, where each
// worker is number 1; the random part does not. Nothing is cut off: what is cut off is
// what differs.
func NewName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d-%016x", strings.Map(safe, host), os.Getpid(), rand.Uint64())
}

// safe replaces what a shell, a URL or a log line would not take as it is.
func safe(r rune) rune {
	if isSafe(r) {
		return r
	}
	return '_'
}

func isSafe(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)
}

func isConsumer(s string) bool {
	return len(s) <= consumerMax && strings.IndexFunc(s, func(r rune) bool { return !isSafe(r) }) < 0
}
