package faultnet

import "bytes"

// Match says whether a request is meant: the bytes that a client sent at once, on a line that
// is numbered as a Watcher's are. It sees all requests of one proxy, one at a time.
type Match func(line int64, request []byte) bool

// Has matches requests that hold all of the texts.
func Has(texts ...string) Match {
	return func(_ int64, request []byte) bool {
		for _, text := range texts {
			if !bytes.Contains(request, []byte(text)) {
				return false
			}
		}
		return true
	}
}

// CommitOf matches the COMMIT of a transaction that has sent text, and no other's: a program
// commits other work, too, at times of its own. The value is for one proxy.
func CommitOf(text string) Match {
	inside := map[int64]bool{}
	return func(line int64, request []byte) bool {
		if bytes.Contains(request, []byte(text)) {
			inside[line] = true
		}
		commits := bytes.Contains(request, []byte("COMMIT"))
		meant := commits && inside[line]
		if commits || bytes.Contains(request, []byte("ROLLBACK")) {
			delete(inside, line)
		}
		return meant
	}
}
