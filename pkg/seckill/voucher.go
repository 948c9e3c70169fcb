package seckill

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of a voucher.
const (
	TotalMax    = 100_000_000       // units; far below 2^53, where Lua's numbers end
	PriceMax    = 1_000_000_000_000 // minor units
	TitleMax    = 200               // characters
	windowYears = 9999              // the last year RFC 3339 can write
)

// Voucher is what is on sale: Total units at one price between Begin and End.
type Voucher struct {
	ID       VoucherID
	Title    string
	Price    int64     // minor units of Currency
	Currency string    // ISO 4217, three capitals
	Total    int64     // units
	Stock    int64     // units left by SQL's books: Total - live rows
	Begin    time.Time // inclusive, UTC, whole milliseconds
	End      time.Time // exclusive, UTC, whole milliseconds
	Version  int64     // raised by each change; an older one never overwrites a newer one
	Epoch    int64     // raised by each sync; a deduction under an older one is refused
}

// State is where a voucher is in its life, as its buyers see it.
type State string

// The states of a voucher.
const (
	Upcoming     State = "upcoming"
	Open         State = "open"
	StateSoldOut State = "soldOut"
	StateEnded   State = "ended"
)

// StateAt derives the state from the window and the units left: a restock or a moved
// window needs no edge back.
func (v Voucher) StateAt(now time.Time, left int64) State {
	switch {
	case now.Before(v.Begin):
		return Upcoming
	case !now.Before(v.End):
		return StateEnded
	case left <= 0:
		return StateSoldOut
	default:
		return Open
	}
}

// Validate reports the first fault of a voucher that is to be created, as Invalid.
func (v Voucher) Validate() error {
	fault := func(format string, a ...any) error {
		return &Error{Op: "seckill.Validate", Code: Invalid, Err: fmt.Errorf(format, a...)}
	}
	switch {
	case strings.TrimSpace(v.Title) == "" || !utf8.ValidString(v.Title):
		return fault("title is empty, all blanks, or no UTF-8")
	case strings.ContainsFunc(v.Title, unicode.IsControl):
		return fault("title holds a control character")
	case utf8.RuneCountInString(v.Title) > TitleMax:
		return fault("title is longer than %d characters", TitleMax)
	case v.Total < 1 || v.Total > TotalMax:
		return fault("total %d is not from 1 to %d", v.Total, TotalMax)
	case v.Price < 0 || v.Price > PriceMax:
		return fault("price %d is not from 0 to %d minor units", v.Price, PriceMax)
	case !isCurrency(v.Currency):
		return fault("currency %q is not three capital letters", v.Currency)
	case v.Begin.UnixMilli() < 0 || v.End.Year() > windowYears:
		return fault("the window lies outside the years 1970 to %d", windowYears)
	case !v.Begin.Before(v.End):
		return fault("beginsAt %s is not before endsAt %s", v.Begin.Format(time.RFC3339), v.End.Format(time.RFC3339))
	}
	return nil
}

func isCurrency(s string) bool {
	if len(s) != 3 {
		return false
	}
	for i := range len(s) {
		if s[i] < 'A' || s[i] > 'Z' {
			return false
		}
	}
	return true
}
