-- TPC-C's five transactions as PL/pgSQL: what workloads/tpcc_*.cc do, with the same parameters and results, for
-- compare-postgresql. Rows that several transactions write are written in one order of their keys, so that
-- transactions wait for each other and do not end in deadlocks. Some parameters are named as tables are: in
-- expressions they are the parameters.

-- The primary key does the same there.
DROP INDEX new_order_by_number;

CREATE PROCEDURE tpcc_new_order(warehouse integer, district integer, customer integer, items text,
                                INOUT order_number integer DEFAULT NULL, INOUT last text DEFAULT NULL,
                                INOUT credit text DEFAULT NULL, INOUT discount numeric DEFAULT NULL,
                                INOUT warehouse_tax numeric DEFAULT NULL, INOUT district_tax numeric DEFAULT NULL,
                                INOUT entered timestamp DEFAULT NULL, INOUT total numeric DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  line record;
  price numeric;
  info text;
  lines integer := 0;
  all_local smallint := 1;
  amount numeric;
  amounts numeric := 0;
BEGIN
  entered := now();
  SELECT w_tax INTO warehouse_tax FROM warehouse WHERE w_id = warehouse;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no such warehouse';
  END IF;
  SELECT c_discount, c_last, c_credit INTO discount, last, credit
  FROM customer WHERE c_w_id = warehouse AND c_d_id = district AND c_id = customer;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no such customer';
  END IF;
  UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = warehouse AND d_id = district
  RETURNING d_next_o_id - 1, d_tax INTO order_number, district_tax;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no such district';
  END IF;
  FOR line IN SELECT split_part(words.word, ':', 1)::integer AS item, split_part(words.word, ':', 2)::integer AS supplier,
                     split_part(words.word, ':', 3)::integer AS quantity, words.number
              FROM unnest(string_to_array(items, ',')) WITH ORDINALITY AS words (word, number)
              ORDER BY supplier, item LOOP
    SELECT i_price INTO price FROM item WHERE i_id = line.item;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'Item number is not valid';
    END IF;
    UPDATE stock
    SET s_quantity = s_quantity - line.quantity + CASE WHEN s_quantity - line.quantity < 10 THEN 91 ELSE 0 END,
        s_ytd = s_ytd + line.quantity,
        s_order_cnt = (s_order_cnt + 1) % 10000,
        s_remote_cnt = (s_remote_cnt + CASE WHEN line.supplier <> warehouse THEN 1 ELSE 0 END) % 10000
    WHERE s_w_id = line.supplier AND s_i_id = line.item
    RETURNING CASE district WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                            WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                            WHEN 9 THEN s_dist_09 ELSE s_dist_10 END INTO info;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'no such supplying warehouse';
    END IF;
    amount := line.quantity * price;
    amounts := amounts + amount;
    lines := lines + 1;
    IF line.supplier <> warehouse THEN
      all_local := 0;
    END IF;
    INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
                            ol_dist_info)
    VALUES (warehouse, district, order_number, line.number, line.item, line.supplier, line.quantity, amount, info);
  END LOOP;
  INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
  VALUES (warehouse, district, order_number, customer, entered, lines, all_local);
  INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (warehouse, district, order_number);
  total := trunc(amounts * (1 - discount) * (1 + warehouse_tax + district_tax), 2);
END
$$;

CREATE PROCEDURE tpcc_payment(warehouse integer, district integer, customer_warehouse integer,
                              customer_district integer, customer integer, amount numeric,
                              INOUT balance numeric DEFAULT NULL, INOUT last text DEFAULT NULL,
                              INOUT credit text DEFAULT NULL, INOUT number integer DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  warehouse_name text;
  district_name text;
  payments integer;
BEGIN
  IF amount <= 0 THEN
    RAISE EXCEPTION 'a payment must be positive';
  END IF;
  UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = warehouse RETURNING w_name INTO warehouse_name;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no such warehouse';
  END IF;
  UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = warehouse AND d_id = district
  RETURNING d_name INTO district_name;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no such district';
  END IF;
  UPDATE customer
  SET c_balance = c_balance - amount,
      c_ytd_payment = c_ytd_payment + amount,
      c_payment_cnt = c_payment_cnt + 1,
      c_data = CASE WHEN c_credit = 'BC'
                    THEN left(c_id || ' ' || customer_district || ' ' || customer_warehouse || ' ' || district || ' '
                              || warehouse || ' ' || (amount * 100)::bigint || ' ' || c_data, 500)
                    ELSE c_data END
  WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_id = customer
  RETURNING c_balance, c_last, c_credit, c_id, c_payment_cnt INTO balance, last, credit, number, payments;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no such customer';
  END IF;
  INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_payment_cnt, h_d_id, h_w_id, h_date, h_amount, h_data)
  VALUES (customer_warehouse, customer_district, number, payments, district, warehouse, now(), amount,
          warehouse_name || '    ' || district_name);
END
$$;

-- Clause 2.5.2.2: of those with the name, ordered by first name, the one in the middle, rounded up.
CREATE FUNCTION tpcc_customer_by_name(warehouse integer, district integer, last text) RETURNS integer
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
  namesakes integer[];
BEGIN
  SELECT array_agg(c_id) INTO namesakes
  FROM (SELECT c_id FROM customer WHERE c_w_id = warehouse AND c_d_id = district AND c_last = last
        ORDER BY c_first) AS found;
  IF namesakes IS NULL THEN
    RAISE EXCEPTION 'no such customer';
  END IF;
  RETURN namesakes[(cardinality(namesakes) + 1) / 2];
END
$$;

CREATE PROCEDURE tpcc_payment_by_name(warehouse integer, district integer, customer_warehouse integer,
                                      customer_district integer, name text, amount numeric,
                                      INOUT balance numeric DEFAULT NULL, INOUT last text DEFAULT NULL,
                                      INOUT credit text DEFAULT NULL, INOUT number integer DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  customer integer := tpcc_customer_by_name(customer_warehouse, customer_district, name);
BEGIN
  CALL tpcc_payment(warehouse, district, customer_warehouse, customer_district, customer, amount,
                    balance, last, credit, number);
END
$$;

CREATE PROCEDURE tpcc_order_status(warehouse integer, district integer, customer integer,
                                   INOUT number integer DEFAULT NULL, INOUT balance numeric DEFAULT NULL,
                                   INOUT first text DEFAULT NULL, INOUT middle text DEFAULT NULL,
                                   INOUT last text DEFAULT NULL, INOUT order_number integer DEFAULT NULL,
                                   INOUT entered timestamp DEFAULT NULL, INOUT carrier integer DEFAULT NULL,
                                   INOUT lines text DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
  SELECT c_id, c_balance, c_first, c_middle, c_last INTO number, balance, first, middle, last
  FROM customer WHERE c_w_id = warehouse AND c_d_id = district AND c_id = customer;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no such customer';
  END IF;
  SELECT o_id, o_entry_d, o_carrier_id INTO order_number, entered, carrier
  FROM orders WHERE o_w_id = warehouse AND o_d_id = district AND o_c_id = customer ORDER BY o_id DESC LIMIT 1;
  IF FOUND THEN
    SELECT string_agg(ol_i_id || ':' || ol_supply_w_id || ':' || ol_quantity || ':' || (ol_amount * 100)::bigint
                      || CASE WHEN ol_delivery_d IS NULL THEN ':no' ELSE ':yes' END, ',' ORDER BY ol_number) INTO lines
    FROM order_line WHERE ol_w_id = warehouse AND ol_d_id = district AND ol_o_id = order_number;
  END IF;
END
$$;

CREATE PROCEDURE tpcc_order_status_by_name(warehouse integer, district integer, name text,
                                           INOUT number integer DEFAULT NULL, INOUT balance numeric DEFAULT NULL,
                                           INOUT first text DEFAULT NULL, INOUT middle text DEFAULT NULL,
                                           INOUT last text DEFAULT NULL, INOUT order_number integer DEFAULT NULL,
                                           INOUT entered timestamp DEFAULT NULL, INOUT carrier integer DEFAULT NULL,
                                           INOUT lines text DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  customer integer := tpcc_customer_by_name(warehouse, district, name);
BEGIN
  CALL tpcc_order_status(warehouse, district, customer, number, balance, first, middle, last, order_number, entered,
                         carrier, lines);
END
$$;

CREATE PROCEDURE tpcc_delivery(warehouse integer, carrier integer, INOUT delivered integer DEFAULT NULL,
                               INOUT skipped integer DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  order_number integer;
  customer integer;
  amount numeric;
BEGIN
  delivered := 0;
  FOR district IN 1..10 LOOP
    DELETE FROM new_order WHERE no_w_id = warehouse AND no_d_id = district
      AND no_o_id = (SELECT no_o_id FROM new_order WHERE no_w_id = warehouse AND no_d_id = district
                     ORDER BY no_o_id LIMIT 1 FOR UPDATE)
    RETURNING no_o_id INTO order_number;
    CONTINUE WHEN NOT FOUND;
    UPDATE orders SET o_carrier_id = carrier
    WHERE o_w_id = warehouse AND o_d_id = district AND o_id = order_number RETURNING o_c_id INTO customer;
    WITH lines AS (UPDATE order_line SET ol_delivery_d = now()
                   WHERE ol_w_id = warehouse AND ol_d_id = district AND ol_o_id = order_number
                   RETURNING ol_amount)
    SELECT sum(ol_amount) INTO amount FROM lines;
    UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
    WHERE c_w_id = warehouse AND c_d_id = district AND c_id = customer;
    delivered := delivered + 1;
  END LOOP;
  skipped := 10 - delivered;
END
$$;

CREATE PROCEDURE tpcc_stock_level(warehouse integer, district integer, threshold integer,
                                  INOUT low integer DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  next integer;
BEGIN
  SELECT d_next_o_id INTO next FROM district WHERE d_w_id = warehouse AND d_id = district;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no such district';
  END IF;
  SELECT count(DISTINCT s_i_id) INTO low
  FROM order_line JOIN stock ON s_w_id = warehouse AND s_i_id = ol_i_id
  WHERE ol_w_id = warehouse AND ol_d_id = district AND ol_o_id >= next - 20 AND ol_o_id < next
    AND s_quantity < threshold;
END
$$;
