module broadloom/samples/softmax

go 1.19
