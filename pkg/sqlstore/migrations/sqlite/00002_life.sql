-- +goose Up

-- The same tables as for MySQL, whose file says what they mean.
CREATE TABLE payment (
    reference  BLOB    NOT NULL PRIMARY KEY,
    order_id   INTEGER NOT NULL,
    amount     INTEGER NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE INDEX payment_order ON payment (order_id);

CREATE TABLE late_payment (
    reference  BLOB    NOT NULL PRIMARY KEY,
    order_id   INTEGER NOT NULL,
    amount     INTEGER NOT NULL,
    created_at INTEGER NOT NULL
);

CREATE TABLE order_outbox (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    orders       TEXT    NOT NULL,
    status       TEXT    NOT NULL,
    reason       TEXT    NOT NULL DEFAULT '',
    created_at   INTEGER NOT NULL,
    published_at INTEGER
);
CREATE INDEX order_outbox_published ON order_outbox (published_at);

CREATE TABLE order_outbox_turn (id INTEGER PRIMARY KEY);
INSERT INTO order_outbox_turn (id) VALUES (1);
