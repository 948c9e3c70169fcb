package seckill

import (
	"errors"
	"strconv"
)

// Code says what went wrong, or why a request was refused, in one stable word. It is an
// error itself: errors.Is(err, seckill.SoldOut). The words are those of the HTTP answers.
type Code string

// The refusals of a sale.
const (
	SoldOut        Code = "SOLD_OUT"        // no unit is left
	AlreadyOrdered Code = "ALREADY_ORDERED" // the user holds an order of this voucher
	NotStarted     Code = "NOT_STARTED"     // the window has not begun
	Ended          Code = "ENDED"           // the window is over
	NotReady       Code = "NOT_READY"       // the voucher is not loaded, or its books in Redis do not balance
)

// What a request can get wrong.
const (
	Invalid         Code = "INVALID" // malformed or out of bounds
	Unauthenticated Code = "UNAUTHENTICATED"
	Forbidden       Code = "FORBIDDEN"
	VoucherNotFound Code = "VOUCHER_NOT_FOUND"
	OrderNotFound   Code = "ORDER_NOT_FOUND"
	Outdated        Code = "STALE"    // something newer is there already
	Conflict        Code = "CONFLICT" // an id or key is taken by something else
)

// What an admin can meet.
const (
	BelowSold          Code = "BELOW_SOLD"          // the total would be below the units that are held
	PreconditionFailed Code = "PRECONDITION_FAILED" // the version is not the one that was asked for
	DeadNotFound       Code = "DEAD_NOT_FOUND"      // no such message is buried
)

// What a change of an order's status meets.
const (
	CodeQueued     Code = "QUEUED"          // the order waits to be stored; then it can be changed
	CodePaid       Code = "PAID"            // the order is paid
	CodeCancelled  Code = "CANCELLED"       // the order was cancelled, by its buyer or by the time-out
	CodeRejected   Code = "REJECTED"        // the order was never stored as a live one
	AlreadyPaid    Code = "ALREADY_PAID"    // by another payment
	AmountMismatch Code = "AMOUNT_MISMATCH" // the payment is not of the order's price
)

// What can fail behind a good request.
const (
	Unavailable Code = "UNAVAILABLE"  // no answer, or the answer is not known: it may have happened
	Overloaded  Code = "OVERLOADED"   // refused before anything happened
	RateLimited Code = "RATE_LIMITED" // this user asks too often; nothing happened
	Internal    Code = "INTERNAL"     // a bug, or data that no program of ours wrote
)

// Codes lists every code, for tables that must be complete.
func Codes() []Code {
	return []Code{
		SoldOut, AlreadyOrdered, NotStarted, Ended, NotReady,
		Invalid, Unauthenticated, Forbidden, VoucherNotFound, OrderNotFound, Outdated, Conflict,
		BelowSold, PreconditionFailed, DeadNotFound,
		CodeQueued, CodePaid, CodeCancelled, CodeRejected, AlreadyPaid, AmountMismatch,
		Unavailable, Overloaded, RateLimited, Internal,
	}
}

// Error is the code alone; where more is known, an *Error carries it.
func (c Code) Error() string { return string(c) }

// Error is a code with its place and cause. It reads "redisstore.Admit: UNAVAILABLE: EOF".
type Error struct {
	Op   string // "redisstore.Admit"
	Code Code
	Err  error // for the log, never shown to a buyer; nil when the code says it all
}

func (e *Error) Error() string {
	s := e.Op + ": " + string(e.Code)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap lets errors.Is find the code and errors.As the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Err}
}

// Held is the cause of BelowSold: how many units are held, the lowest that the total can be.
type Held int64

func (h Held) Error() string { return strconv.FormatInt(int64(h), 10) + " are held" }

// CodeOf returns the code of err, Internal for an error that has none, "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	var c Code
	if errors.As(err, &c) {
		return c
	}
	return Internal
}
