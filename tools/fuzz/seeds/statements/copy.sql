COPY t (a, b) FROM STDIN;;$7	x
8	\N
;;COPY t (a, b) FROM STDIN (FORMAT csv);;$9,"a
""b"
;;@COPY t (a) FROM STDIN;;$1

