package redisstore

import (
	"strconv"

	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	group = "seckillGroup"

	partitions = "seckill:partitions" // how many there are: the one key that is the same for every number of them

	settled = "seckill:settled" // channel: ids of orders whose status changed
	changed = "seckill:changed" // channel: ids of vouchers that can sell what they could not before
	asked   = "seckill:asked"   // channel: somebody watches and wants to hear from every process
	pulses  = "seckill:pulses"  // channel: what they answer
)

// keys builds every key name there is; Lua and the other files build none. With partitions
// each key of one carries its hash tag, so that a script's keys share a slot.
type keys struct{ partitions int }

func (k keys) partition(v seckill.VoucherID) int {
	if k.partitions == 0 {
		return 0
	}
	return int(int64(v) % int64(k.partitions))
}

func (k keys) tag(p int) string {
	if k.partitions == 0 {
		return ""
	}
	return ":{" + strconv.Itoa(p) + "}"
}

func (k keys) of(what string, v seckill.VoucherID) string {
	return "seckill:" + what + k.tag(k.partition(v)) + ":" + v.String()
}

func (k keys) voucher(v seckill.VoucherID) string { return k.of("voucher", v) }
func (k keys) stock(v seckill.VoucherID) string   { return k.of("stock", v) }
func (k keys) buyers(v seckill.VoucherID) string  { return k.of("order", v) }
func (k keys) tickets(v seckill.VoucherID) string { return k.of("ticket", v) }
func (k keys) stream(p int) string                { return "seckill:stream" + k.tag(p) }
func (k keys) dead(p int) string                  { return "seckill:dead" + k.tag(p) }
func (k keys) events(p int) string                { return "seckill:events" + k.tag(p) }
func (k keys) replays(p int) string               { return "seckill:replays" + k.tag(p) }
func (k keys) tries(p int) string                 { return "seckill:tries" + k.tag(p) }
func (k keys) server(p int) string                { return "seckill:server" + k.tag(p) }
func (k keys) confirmed(p int) string             { return "seckill:confirmed" + k.tag(p) }

func (k keys) sequence(p int, day string) string { return "icr:order" + k.tag(p) + ":" + day }

// sequenceRun is in the slot of its sequence.
func (k keys) sequenceRun(p int, day string) string {
	if k.partitions == 0 {
		return "{" + k.sequence(p, day) + "}:run"
	}
	return k.sequence(p, day) + ":run"
}

func (k keys) lock(p int, u seckill.UserID) string {
	return "lock:order" + k.tag(p) + ":" + u.String()
}

func (k keys) syncing(v seckill.VoucherID) string {
	return "lock:sync" + k.tag(k.partition(v)) + ":" + v.String()
}

// books are the keys that the scripts on one voucher's books take, in their order.
func (k keys) books(v seckill.VoucherID) []string {
	return []string{k.voucher(v), k.stock(v), k.buyers(v), k.tickets(v)}
}

// sync are the keys of the scripts that close and open a voucher, in their order.
func (k keys) sync(v seckill.VoucherID) []string {
	return append(k.books(v), k.server(k.partition(v)))
}

// admission are the keys that the selling script takes, in their order.
func (k keys) admission(v seckill.VoucherID) []string {
	return append(k.sync(v), k.stream(k.partition(v)))
}
