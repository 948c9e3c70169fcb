package model

import "slices"

// row is a configuration under which all rules hold.
type row struct {
	name   string
	most   int // states that it may have
	config config
}

func rows() []row {
	return slices.Concat(undisturbed(), disturbed(), changed())
}

// undisturbed are sales in which nothing goes wrong but that processes stop.
func undisturbed() []row {
	return []row{
		{"two workers take the same entries", 13_000, config{units: 1, buyer: users{0, 0, 1}, workers: 2, cancels: true}},
		{"a buyer cancels and buys again while the sweep is late", 19_000, config{units: 1, buyer: users{0, 0, 1}, cancels: true, sweeps: true}},
		{"an order is worn out while another worker stores it", 15_000, config{units: 1, buyer: users{0, 1}, workers: 2, wears: true, sweeps: true}},
		{"a worn-out order is bought again", 4_900, config{units: 1, buyer: users{0, 0}, wears: true, cancels: true, sweeps: true}},
		{"a buyer's retry comes late", 23_000, config{units: 1, buyer: users{0, 0}, tries: 2, cancels: true, sweeps: true}},
		{"more users than units", 270_000, config{units: 2, buyer: users{0, 1, 2}, cancels: true, sweeps: true, pays: true}},
		{"a payment and the time-out want the same order", 130_000, config{units: 1, buyer: users{0, 0, 1}, pays: true, expires: true, sweeps: true}},
		{"users are repaired while they buy", 75_000, config{units: 1, buyer: users{0, 1}, cancels: true, wears: true, sweeps: true, repairs: true}},
		{"a user is repaired who buys again", 19_000, config{units: 1, buyer: users{0, 0}, cancels: true, sweeps: true, repairs: true}},
		{"orders are asked for on their way", 59_000, config{units: 1, buyer: users{0, 0, 1}, cancels: true, sweeps: true, asks: true}},
		{"one publisher is frozen while another publishes", 120_000, config{units: 1, buyer: users{0, 0}, pays: true, cancels: true, publishers: 2}},
		{"changes are published while orders die", 78_000, config{units: 1, buyer: users{0, 1}, wears: true, expires: true, pays: true, publishers: 1}},
		{"a transaction commits after one that began later", 230_000, config{units: 2, buyer: users{0, 1}, slow: true, pays: true, publishers: 1}},
	}
}

// disturbed are sales in which Redis loses something, or is rebuilt.
func disturbed() []row {
	return []row{
		{"a sync begins for no reason", 78_000, config{units: 1, buyer: users{0, 1}, syncers: 1, syncs: true, cancels: true, sweeps: true}},
		{"a sync begins while a user buys again", 56_000, config{units: 1, buyer: users{0, 0}, syncers: 1, syncs: true, cancels: true, sweeps: true}},
		{"two syncs end each other", 200_000, config{units: 1, buyer: users{0, 0}, syncers: 2, syncs: true, cancels: true}},
		{"the buyers are lost", 87_000, config{units: 1, buyer: users{0, 1}, syncers: 1, losses: 1, kinds: "b", cancels: true, sweeps: true}},
		{"the tickets are lost", 98_000, config{units: 1, buyer: users{0, 1}, syncers: 1, losses: 1, kinds: "t", cancels: true, sweeps: true}},
		{"buyers and tickets are lost, and users are repaired", 4_700, config{units: 1, buyer: users{0, 1}, syncers: 1, losses: 1, kinds: "2", repairs: true}},
		{"the stock is lost", 71_000, config{units: 1, buyer: users{0, 1}, syncers: 1, losses: 1, kinds: "s", cancels: true, sweeps: true}},
		{"the voucher is lost", 81_000, config{units: 1, buyer: users{0, 1}, syncers: 1, losses: 1, kinds: "v", cancels: true, sweeps: true}},
		{"the stream is lost", 52_000, config{units: 1, buyer: users{0, 0, 1}, syncers: 1, losses: 1, kinds: "x", cancels: true, repairs: true}},
		{"everything is lost", 890, config{units: 1, buyer: users{0, 1}, syncers: 1, losses: 1, kinds: "F"}},
		{"everything is lost, and an order dies", 93_000, config{units: 1, buyer: users{0, 0}, syncers: 1, losses: 1, kinds: "F", cancels: true, sweeps: true, wears: true}},
		{"everything is lost with two workers at it", 6_100, config{units: 1, buyer: users{0, 1}, syncers: 1, losses: 1, kinds: "F", workers: 2}},
		{"Redis falls back", 260_000, config{units: 1, buyer: users{0, 1}, syncers: 1, losses: 1, kinds: "R", cancels: true, sweeps: true, mayBeShort: true}},
		{"Redis falls back, and the first short order has the voucher synced", 5_200, config{units: 1, buyer: users{0, 1}, syncers: 1, losses: 1, kinds: "R", tries: 2, onceShort: true, mayBeShort: true, mayDeny: true}},
		{"Redis falls back while a user buys again", 22_000, config{units: 1, buyer: users{0, 0}, syncers: 1, losses: 1, kinds: "R", cancels: true, repairs: true, mayBeDouble: true}},
	}
}

// changed are sales of which somebody changes the total.
func changed() []row {
	return []row{
		{"a total is raised", 3_800, config{units: 1, buyer: users{0, 1}, raises: 2, syncers: 1, cancels: true}},
		{"a total is cut", 120_000, config{units: 2, buyer: users{0, 1}, cuts: 1, syncers: 1, cancels: true}},
		{"a total is raised and cut", 56_000, config{units: 2, buyer: users{0, 1}, raises: 1, cuts: 1, syncers: 1}},
		{"a total is cut while the stock is lost", 39_000, config{units: 2, buyer: users{0, 1}, cuts: 1, syncers: 1, losses: 1, kinds: "s"}},
		{"a total is cut while the voucher is lost", 69_000, config{units: 2, buyer: users{0, 1}, cuts: 1, syncers: 1, losses: 1, kinds: "v"}},
	}
}
