package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

// law is what SQL, Redis and the buyers say after the sale.
type law struct {
	total      int64
	rows       int64 // live rows
	lost       int   // accepted orders without a row
	duplicates int   // users with more than one live row
	books      seckill.Report
}

func (l law) oversold() int64 { return max(0, l.rows-l.total) }

// verdict lists what breaks the law; none is a sale as it should be.
func (l law) verdict(t *tally) (faults []string) {
	must := func(ok bool, format string, a ...any) {
		if !ok {
			faults = append(faults, fmt.Sprintf(format, a...))
		}
	}
	must(l.oversold() == 0, "%d units oversold", l.oversold())
	must(l.lost == 0, "%d accepted orders lost", l.lost)
	must(l.duplicates == 0, "%d users with two live orders", l.duplicates)
	must(t.wrong.Load() == 0, "%d answers that contradict an order the buyer holds", t.wrong.Load())
	must(t.failed.Load() == 0, "%d requests failed, the first with: %v", t.failed.Load(), t.first)
	must(t.rejected.Load() == 0, "%d orders rejected after they were accepted", t.rejected.Load())
	must(l.rows == int64(len(t.held)), "%d live rows for %d buyers who were accepted", l.rows, len(t.held))
	must(l.books.AtRest(), "the books do not balance: %+v", l.books)
	return faults
}

// reportRow is a line of the report.
type reportRow struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Note  string `json:"note"`
}

// table is the report.
func (l law) table(t *tally, took time.Duration) (rows []reportRow) {
	row := func(name string, value any, note string) {
		rows = append(rows, reportRow{name, fmt.Sprint(value), note})
	}
	row("accepted", t.accepted.Load(), "told 202 with an order id")
	row("repeats", t.repeated.Load(), "got their own order back")
	row("sold out", t.soldOut.Load(), "refused with 409 SOLD_OUT")
	row("refused for now", t.refused.Load(), "503, try again")
	row("failed", t.failed.Load(), "any other answer, or none")
	row("stored", l.rows, fmt.Sprintf("live rows in SQL, of %d units", l.total))
	row("oversold", l.oversold(), "")
	row("lost", l.lost, "accepted, and no row")
	row("duplicate", l.duplicates, "users with two live rows")
	row("p50 / p99", fmt.Sprintf("%s / %s", percentile(t.times, 50), percentile(t.times, 99)), fmt.Sprintf("of %d answers in %s", len(t.times), took.Round(time.Millisecond)))
	r := l.books
	row("books, Redis", fmt.Sprintf("%d + %d = %d", r.Redis.Stock, r.Redis.Buyers, r.Redis.Total), fmt.Sprintf("stock + buyers = total, %d tickets, %d waiting", r.Redis.Tickets, r.Waiting))
	row("books, SQL", fmt.Sprintf("%d + %d = %d", r.SQL.Stock, r.SQL.Live(), r.SQL.Total), "stock + live rows = total")
	return rows
}

func printReport(out io.Writer, t *tally, l law, took time.Duration) error {
	var text bytes.Buffer
	tab := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	text.WriteByte('\n')
	for _, r := range l.table(t, took) {
		fmt.Fprintf(tab, "  %s\t%s\t%s\n", r.Name, r.Value, r.Note)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	text.WriteByte('\n')
	faults := l.verdict(t)
	for _, fault := range faults {
		text.WriteString("  BROKEN: " + fault + "\n")
	}
	if len(faults) == 0 {
		text.WriteString("  The law holds: nothing oversold, nothing lost, nothing twice, and the books balance.\n")
	}
	_, err := out.Write(text.Bytes())
	return err
}

func percentile(times []time.Duration, p int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(len(times)-1, len(times)*p/100)].Round(10 * time.Microsecond)
}
