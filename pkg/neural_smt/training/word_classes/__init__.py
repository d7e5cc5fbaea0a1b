"""Classes of words for the class-factored softmax: what they cost, and three ways of making them."""
