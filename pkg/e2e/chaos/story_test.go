package chaos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	storiesMax = 3  // users whose story is told
	findingMax = 20 // findings that are written out
)

// story tells what was found, what happened to the world meanwhile, and for the first few
// users concerned all that they did and all that is left of it.
func (c *crowd) story(found []finding) string {
	var b strings.Builder
	for i, f := range found {
		if i == findingMax {
			fmt.Fprintf(&b, "and %d more\n", len(found)-i)
			break
		}
		fmt.Fprintln(&b, f)
	}
	fmt.Fprintf(&b, "--- the world: %v\n%s\n", c.w.plan, strings.Join(c.w.tale.all(), "\n"))
	var told []int64
	for _, f := range found {
		if f.user != 0 && !slices.Contains(told, f.user) && len(told) < storiesMax {
			told = append(told, f.user)
			c.biography(&b, f.user)
		}
	}
	for _, n := range c.w.nodes() {
		fmt.Fprintf(&b, "--- %s\n%s", n.name, trouble(n.text()))
	}
	return b.String()
}

// biography is what one user did, what SQL and Redis have of it, and what programs wrote of it.
func (c *crowd) biography(b *strings.Builder, user int64) {
	fmt.Fprintf(b, "--- user %d\n", user)
	words := []string{"user=" + strconv.FormatInt(user, 10) + " ", "user=" + strconv.FormatInt(user, 10) + "\n"}
	for _, d := range c.all() {
		if d.user == user {
			fmt.Fprintln(b, d)
			if d.answer.OrderID != "" && !slices.Contains(words, d.answer.OrderID) {
				words = append(words, d.answer.OrderID)
			}
		}
	}
	c.remains(b, user)
	for _, n := range c.w.nodes() {
		for line := range strings.Lines(n.text()) {
			if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(line, word) }) {
				fmt.Fprintf(b, "%s: %s", n.name, line)
			}
		}
	}
}

func (c *crowd) remains(b *strings.Builder, user int64) {
	ctx := c.w.pass()
	rows, err := c.w.db.QueryContext(ctx, "SELECT id, status, reason, release_due, created_at, updated_at FROM voucher_order WHERE user_id = ?", user)
	if err != nil {
		fmt.Fprintln(b, err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		var id, status, reason string
		var due bool
		var created, updated int64
		if err := rows.Scan(&id, &status, &reason, &due, &created, &updated); err != nil {
			fmt.Fprintln(b, err)
			return
		}
		began := c.w.began.UnixMilli()
		fmt.Fprintf(b, "row %s: %s %s, release due %v, stored at %dms, changed at %dms\n", id, status, reason, due, created-began, updated-began)
	}
	if err := rows.Err(); err != nil {
		fmt.Fprintln(b, err)
	}
	ticket := c.w.rdb.HGet(ctx, "seckill:ticket:"+c.voucher, strconv.FormatInt(user, 10)).Val()
	buyer := c.w.rdb.SIsMember(ctx, "seckill:order:"+c.voucher, user).Val()
	fmt.Fprintf(b, "ticket %q, buyer %v\n", ticket, buyer)
	for _, m := range c.w.rdb.XRange(ctx, "seckill:stream", "-", "+").Val() {
		if m.Values["userId"] == strconv.FormatInt(user, 10) {
			fmt.Fprintf(b, "entry %s: %v\n", m.ID, m.Values)
		}
	}
}

// trouble are the lines that warn, the last of them.
func trouble(text string) string {
	const most = 30
	var bad []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "level=INFO") {
			bad = append(bad, line)
		}
	}
	return strings.Join(bad[max(0, len(bad)-most):], "")
}
