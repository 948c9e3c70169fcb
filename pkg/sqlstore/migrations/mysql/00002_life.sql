-- +goose Up

-- One row for each payment that ever came. Its key decides that a reference pays one order,
-- once: the orders themselves keep no index for it, which each of them would pay for.
CREATE TABLE IF NOT EXISTS payment (
    reference  VARBINARY(128) NOT NULL, -- of the payment service; bytes, so that case counts
    order_id   BIGINT         NOT NULL,
    amount     BIGINT         NOT NULL, -- minor units
    created_at BIGINT         NOT NULL,
    PRIMARY KEY (reference),
    INDEX payment_order (order_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 ROW_FORMAT = DYNAMIC;

-- Those of them that came after their order had died: the money has to go back.
CREATE TABLE IF NOT EXISTS late_payment (
    reference  VARBINARY(128) NOT NULL,
    order_id   BIGINT         NOT NULL,
    amount     BIGINT         NOT NULL,
    created_at BIGINT         NOT NULL,
    PRIMARY KEY (reference)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 ROW_FORMAT = DYNAMIC;

-- One row for each transaction that changed orders, written in it. Numbers ascend along the
-- life of each order: whoever changes it next waits for its row, and gets a number after.
CREATE TABLE IF NOT EXISTS order_outbox (
    id           BIGINT      NOT NULL AUTO_INCREMENT,
    orders       MEDIUMTEXT  CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- JSON: [[order id, user id, voucher id], ...]
    status       VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- that they all moved to
    reason       VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    created_at   BIGINT      NOT NULL,
    published_at BIGINT, -- NULL: not yet
    PRIMARY KEY (id),
    INDEX order_outbox_published (published_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 ROW_FORMAT = DYNAMIC;

-- Whoever has this row locked is the one that publishes.
CREATE TABLE IF NOT EXISTS order_outbox_turn (
    id TINYINT NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB;
INSERT IGNORE INTO order_outbox_turn (id) VALUES (1);
