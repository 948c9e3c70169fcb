package seckill

import (
	"encoding/json"
	"time"
)

// Action is what an admin did.
type Action string

// The actions that are logged. Those on both stores or on Redis alone are logged before they
// are tried, so a refusal may have followed; the others with their change, or not at all.
const (
	VoucherCreated Action = "create"
	VoucherChanged Action = "change"
	VoucherClosed  Action = "close"
	VoucherSynced  Action = "sync"   // logged before
	DeadReplayed   Action = "replay" // logged before
	DeadDropped    Action = "drop"   // logged before, with the whole message
)

// Deed is an entry in the log of what admins did.
type Deed struct {
	ID      int64     // given by the log, ascending
	At      time.Time // by the database's clock, UTC; given by the log
	Actor   UserID
	Action  Action
	Voucher VoucherID       // 0: none
	Request string          // id of the request, as in the logs of the api
	Detail  json.RawMessage // an object; nil counts as {}
}
