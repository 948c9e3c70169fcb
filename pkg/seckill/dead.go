package seckill

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Dead is a buried message.
type Dead struct {
	ID       DeadID
	BuriedAt time.Time // by Redis's clock, UTC
	Original string    // id it had in the order stream; "" where another program wrote the entry
	Reason   Reason
	Attempts int64    // how often it was delivered
	Order    Order    // what it asked for, as far as it was readable
	Fields   []string // name, value, name, value, ... as they were
}

// DeadID names a buried message among those of all partitions. Its text is the id of its
// entry, with "3:" in front for partition 3: "1700000000000-0", "3:1700000000000-0".
type DeadID struct {
	Partition int
	Entry     string
}

func (id DeadID) String() string {
	if id.Partition == 0 {
		return id.Entry
	}
	return strconv.Itoa(id.Partition) + ":" + id.Entry
}

// MarshalText writes the id as String does.
func (id DeadID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// ParseDeadID reads what String wrote; anything else is Invalid.
func ParseDeadID(s string) (DeadID, error) {
	id := DeadID{Entry: s}
	wrong := &Error{Op: "seckill.Parse", Code: Invalid, Err: fmt.Errorf("%.40q is not the id of a buried message, such as 1700000000000-0", s)}
	if number, entry, ok := strings.Cut(s, ":"); ok {
		p, err := strconv.ParseUint(number, 10, 31)
		if err != nil {
			return DeadID{}, wrong
		}
		id = DeadID{Partition: int(p), Entry: entry}
	}
	if ms, seq, ok := strings.Cut(id.Entry, "-"); !ok || !isNumber(ms) || !isNumber(seq) {
		return DeadID{}, wrong
	}
	return id, nil
}

// Redis would read "7" as "7-0", or as all of that millisecond, and "+" as the last entry.
func isNumber(s string) bool {
	n, err := strconv.ParseUint(s, 10, 64)
	return err == nil && strconv.FormatUint(n, 10) == s
}
