package chaos

// The nodes that a script's dice strike: of all programs, in the order of world.nodes.
const (
	api1    = 0
	api2    = 1
	worker1 = 2
	worker2 = 3
	worker3 = 4
)

// killAll kills each worker, while the database is slow for them.
var killAll = script(250,
	300, "sql-delay", worker1+100<<8, 300, "sql-delay", worker2+100<<8, 300, "sql-delay", worker3+100<<8,
	500, "kill-worker", 0, 600, "kill-worker", 1, 700, "kill-worker", 2,
	1500, "sql-freeze", 0, 1700, "kill-worker", 0, 1700, "kill-worker", 1, 1700, "kill-worker", 2,
	2700, "sql-freeze", 0, 2900, "kill-worker", 0, 2900, "kill-worker", 1, 2900, "kill-worker", 2,
	3700, "sql-freeze", 0, 3900, "kill-worker", 0, 3900, "kill-worker", 1, 3900, "kill-worker", 2)

// loseReplies lets commits and scripts of every program happen without a word of it.
var loseReplies = script(250,
	400, "sql-swallow", worker1+15<<8, 600, "sql-swallow", worker2+15<<8, 800, "sql-swallow", worker3+15<<8,
	500, "redis-swallow", api1+15<<8, 700, "redis-swallow", api2+15<<8, 1100, "sql-swallow", api1+15<<8, 1300, "sql-swallow", api2+15<<8,
	1600, "sql-swallow", worker1+15<<8, 1800, "sql-swallow", worker2+15<<8, 2000, "sql-swallow", worker3+15<<8,
	1700, "redis-swallow", api1+15<<8, 1900, "redis-swallow", api2+15<<8, 2300, "sql-swallow", api1+15<<8, 2600, "sql-swallow", api2+15<<8,
	3000, "redis-swallow", api1+15<<8, 3200, "redis-swallow", api2+15<<8, 3500, "sql-swallow", api1+15<<8, 3700, "sql-swallow", api2+15<<8)

// loseGroup makes the workers begin their group again and again.
var loseGroup = script(600,
	500, "group-destroy", 0, 1000, "group-destroy", 0, 1500, "group-destroy", 0, 2000, "group-destroy", 0,
	2500, "group-destroy", 0, 3000, "group-destroy", 0, 3500, "group-destroy", 0, 4000, "group-destroy", 0)

// rebuild makes the voucher be synced while orders are on their way.
var rebuild = script(600,
	300, "sql-delay", worker1+90<<8, 300, "sql-delay", worker2+90<<8, 300, "sql-delay", worker3+90<<8,
	500, "drop-stock", 0, 1200, "drop-stock", 0, 1900, "drop-stock", 0, 2600, "drop-stock", 0, 3300, "drop-stock", 0, 4000, "drop-stock", 0)

// slow keeps orders waiting in the stream.
var slow = script(600,
	300, "freeze-worker", 0, 300, "freeze-worker", 1, 300, "freeze-worker", 2,
	1300, "sql-delay", worker1+180<<8, 1300, "sql-delay", worker2+180<<8, 1300, "sql-delay", worker3+180<<8,
	2300, "freeze-worker", 0, 2300, "freeze-worker", 1, 2300, "freeze-worker", 2,
	3300, "sql-delay", worker1+180<<8, 3300, "sql-delay", worker2+180<<8, 3300, "sql-delay", worker3+180<<8)

// collide makes transactions roll back.
var collide = script(600,
	300, "sql-deadlock", 0, 900, "sql-cut", worker1, 1000, "sql-cut", worker2, 1100, "sql-cut", worker3, 1500, "sql-deadlock", 0,
	2000, "sql-cut", worker1, 2100, "sql-cut", worker2, 2200, "sql-cut", worker3, 2700, "sql-deadlock", 0, 3300, "sql-deadlock", 0)

var calm = script(150)

// mutants are the mistakes, by where they are made.
var mutants = []*mutant{
	{
		name: "the stock is not looked at", plan: calm, by: []string{"books", "fates"},
		edits: []edit{{"lua/seckill.lua", "if not refused and left == 0 then", "if not refused and left < -50 then"}},
	},
	{
		name: "one user may buy twice", plan: calm, by: []string{"books", "history", "fates"},
		edits: []edit{{"lua/seckill.lua", "if member[i] == 1 then", "if member[i] == 7 then"}},
	},
	{
		name: "a release does not look at the order", plan: slow, by: []string{"books", "history"},
		edits: []edit{{"lua/release.lua", "if redis.call('HGET', KEYS[4], user) ~= order then", "if not redis.call('HGET', KEYS[4], user) then"}},
	},
	{
		name: "a retry asks under a new id", plan: loseReplies, by: []string{"history"},
		edits: []edit{
			{"pkg/redisstore/admit.go", "		if again, failed := b.ask(ctx, op, o); failed == nil {", "		o.ID++\n		if again, failed := b.ask(ctx, op, o); failed == nil {"},
		},
	},
	{
		name: "what is sold out stays sold out", plan: calm, by: []string{"encore"},
		edits: []edit{
			{"api/internal/gate/memory.go", "life     = time.Second ", "life     = time.Hour "},
			{"api/internal/gate/memory.go", "func (m *memory) Changed(v seckill.VoucherID) {\n", "func (m *memory) Changed(v seckill.VoucherID) {\n	return\n"},
		},
	},
	{
		name: "the group begins at the end of the stream", plan: loseGroup, by: []string{"bugs"}, // which are mended
		edits: []edit{{"pkg/redisstore/stream.go", `s.keys.stream(p), group, "0")`, `s.keys.stream(p), group, "$")`}},
	},
	{
		name: "acknowledged before it is stored", plan: killAll, by: []string{"books", "fates"},
		edits: []edit{{"worker/internal/consume/job.go", "	bug := j.guard(\"handle\", func() {",
			"	for _, d := range ds {\n		_, _ = j.Ends.Settle(ctx, j.p, []string{d.Entry})\n	}\n	bug := j.guard(\"handle\", func() {"}},
	},
	{
		name: "deleted from the stream when it is read", plan: killAll, by: []string{"books", "fates"},
		edits: []edit{{"pkg/redisstore/stream.go", "				ds = append(ds, delivery(p, m))\n			}\n		}\n		return err",
			"				ds = append(ds, delivery(p, m))\n				s.db.XDel(ctx, s.keys.stream(p), m.ID)\n			}\n		}\n		return err"}},
	},
	{
		name: "nobody takes over what the dead left", plan: killAll, by: []string{"books", "fates"},
		edits: []edit{{"worker/internal/consume/lane.go", "	loops.Go(func() { l.forever(intake, \"claim\", func() { l.claim(intake, work) }) })\n", ""}},
	},
	{
		name: "a repeated order counts as failed", plan: loseReplies, by: []string{"books", "history", "fates"},
		edits: []edit{
			{"worker/internal/fulfil/conclude.go", "	case row.Status.Live():\n		r.settle(o)", "	case row.Status.Live():\n		f.giveBack(ctx, r, func() { r.settle(o) })"},
			{"pkg/books/giveback.go", "	live, err := g.sql.LiveOrder(", "	return g.free(ctx, o)\n	live, err := g.sql.LiveOrder("},
		},
	},
	{
		name: "given back before the rejection is committed", scene: sceneRejection, plan: calm, by: []string{"order of things"},
		edits: []edit{{"worker/internal/fulfil/conclude.go", "	row, err := f.Ledger.Reject(ctx, order, why)", "	_ = f.Giver.GiveBack(ctx, order)\n	row, err := f.Ledger.Reject(ctx, order, why)"}},
	},
	{
		name: "unlocked before the commit", scene: sceneLock, plan: calm, by: []string{"order of things"},
		edits: []edit{{"pkg/redisstore/lock.go", "	return fn(l.Context(), l.Held())", "	_ = l.unlock(ctx, l.keys)\n	return fn(ctx, l.Held())"}},
	},
	{
		name: "the epoch is not looked at", scene: sceneEpoch, plan: script(250, 0, "flushall", 0), by: []string{"order of things", "books"},
		edits: []edit{{"pkg/sqlstore/storeorders.go", "WHERE id = ? AND epoch = ? AND stock >= ?\"", "WHERE id = ? AND (epoch = ? OR 1 = 1) AND stock >= ?\""}},
	},
	{
		name: "a sync does not close the sale", scene: sceneSync, plan: calm, by: []string{"order of things"},
		edits: []edit{
			{"lua/load.lua", "'state', 'loading', 'token'", "'state', 'open', 'token'"},
			{"lua/fill.lua", " or v[2] ~= 'loading' then", " then"},
			{"lua/forget.lua", " or v[2] ~= 'loading' then", " then"},
			{"lua/open.lua", "if v[3] == 'open' then", "if v[3] == 'never' then"},
		},
	},
	{
		name: "a refused deduction is not noticed", plan: rebuild, by: []string{"books"},
		edits: []edit{{"pkg/sqlstore/storeorders.go", "		if changed == 0 {\n			return refuse", "		if changed < 0 {\n			return refuse"}},
	},
	{
		name: "cancelled twice, returned twice", plan: calm, by: []string{"books", "answers"},
		edits: []edit{{"pkg/sqlstore/life.go", "		default:\n			return nil\n		}\n	})", "		default:\n			_, err := tx.ExecContext(ctx, \"UPDATE seckill_voucher SET stock = stock + 1 WHERE id = ?\", row.Voucher)\n			return err\n		}\n	})"}},
	},
	{
		name: "paid or cancelled without a condition", plan: calm, by: []string{"history", "money"},
		edits: []edit{{"pkg/sqlstore/life.go", "WHERE id = ? AND status = 'created'\"", "WHERE id = ?\""}},
	},
	{
		name: "what is paid expires", plan: calm, by: []string{"money", "history", "news"},
		edits: []edit{
			{"pkg/sqlstore/expire.go", "WHERE release_due = 0 AND status = 'created' AND expires_at", "WHERE release_due = 0 AND status IN ('created', 'paid') AND expires_at"},
			{"pkg/sqlstore/expire.go", "\" WHERE status = 'created' AND id IN (?)\"", "\" WHERE id IN (?)\""},
		},
	},
	{
		name: "noted outside the transaction", plan: collide, by: []string{"news"},
		edits: []edit{{"pkg/sqlstore/storeorders.go", "		if err := note(ctx, tx, part, seckill.Created, \"\", now); err != nil {",
			"		if err := s.inTx(ctx, func(tx *sqlx.Tx) error { return note(ctx, tx, part, seckill.Created, \"\", now) }); err != nil {"}},
	},
}
