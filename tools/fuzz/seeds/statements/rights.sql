#SELECT * FROM types;;#INSERT INTO t VALUES (9);;#SELECT * FROM totals;;GRANT ALL ON types TO visitor;;#SELECT * FROM types;;#SET ROLE readers;;#DROP TABLE t
