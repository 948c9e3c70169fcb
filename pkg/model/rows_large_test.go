package model

// large are sales that take minutes; see faultnet.Pick.
func large() []row {
	return []row{
		{"two workers, worn-out orders, and buyers who buy again", 1_800_000, config{units: 1, buyer: users{0, 0, 1}, workers: 2, cancels: true, wears: true, sweeps: true}},
		{"retries come late to two workers", 400_000, config{units: 1, buyer: users{0, 0}, tries: 2, workers: 2, cancels: true, sweeps: true}},
		{"more users than units, and repairs", 3_600_000, config{units: 2, buyer: users{0, 1, 2}, cancels: true, sweeps: true, repairs: true, wears: true}},
		{"one publisher is frozen, and units go back", 1_400_000, config{units: 1, buyer: users{0, 0}, pays: true, cancels: true, sweeps: true, publishers: 2}},
		{"two syncs, and users buy again", 2_800_000, config{units: 1, buyer: users{0, 0}, syncers: 2, syncs: true, cancels: true, sweeps: true}},
		{"any one thing is lost, and users are repaired", 2_400_000, config{units: 1, buyer: users{0, 0}, losses: 1, kinds: "bt2svx", syncers: 1, cancels: true, sweeps: true, repairs: true}},
		{"two things are lost", 270_000, config{units: 1, buyer: users{0, 1}, losses: 2, kinds: "Fbt2svx", syncers: 1, cancels: true, mayBeShort: true, mayBeDouble: true, mayDeny: true}},
		{"everything is lost with two workers at it", 2_900_000, config{units: 1, buyer: users{0, 0, 1}, losses: 1, kinds: "F", mayBeDouble: true, syncers: 1, workers: 2, cancels: true, wears: true}},
		{"Redis falls back with two workers at it", 300_000, config{units: 1, buyer: users{0, 1}, losses: 1, kinds: "R", syncers: 1, workers: 2, cancels: true, mayBeShort: true, mayBeDouble: true, mayDeny: true}},
		{"a total is raised and cut while Redis falls back", 5_500_000, config{units: 2, buyer: users{0, 1}, raises: 1, cuts: 1, syncers: 1, losses: 1, kinds: "R", mayBeShort: true, mayBeDouble: true, mayDeny: true}},
	}
}
